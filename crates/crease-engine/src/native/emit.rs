//! From equations to the compiler's instructions.
//!
//! Arithmetic is scalar. What selects works with masks in vector registers, of which the first lane counts: a branch would be
//! mispredicted half of the time. Every operation gives, bit for bit, what [`Unit::apply`] gives.

use super::Placing;
use super::calls::{self, Call, Called, Scratch};
use super::plan::{ODD, PIECE, Plan, is_call};
use crate::flat::{Flat, FlatEq, Operand};
use crate::float::Float;
use crate::unit::{LaneOp, Unit};
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{AbiParam, Function, InstBuilder, MemFlags, SigRef, Signature, Type, Value, types};
use cranelift_codegen::isa::CallConv;
use crease_core::{Smooth, Ties};

/// What generated code points to, and must outlive it. Boxes, so that their addresses stay.
pub(super) struct Pool<T> {
    pub calls: Vec<Box<Call<T>>>,
    pub units: Vec<Box<Unit<T>>>,
}

/// What all pieces share.
pub(super) struct Source<'a, T> {
    pub flat: &'a Flat,
    pub placings: &'a [Placing<T>],
    pub plan: &'a Plan,
    pub checked: bool,
}

/// The types of numbers.
struct Types {
    scalar: Type,
    vector: Type,
    size: i32,
}

struct Piece<'a, 'f, T> {
    source: &'a Source<'a, T>,
    pool: &'a mut Pool<T>,
    pos: FuncCursor<'f>,
    convention: CallConv,
    t: Types,
    arena: Value,
    scratch: Value,
    /// The values of this piece, by their distance from its first.
    made: Vec<Option<Value>>,
    first: u32,
    /// The equation at hand.
    now: usize,
    odd: Option<Value>,
    signatures: [Option<SigRef>; 3],
}

/// The signature of a piece: the arena, and memory for calls.
pub(super) fn signature(convention: CallConv) -> Signature {
    let mut s = Signature::new(convention);
    s.params.extend([AbiParam::new(types::I64); 2]);
    s
}

/// The function of equations from number `from` on, up to [`PIECE`] of them.
pub(super) fn piece<T: Float>(source: &Source<'_, T>, pool: &mut Pool<T>, from: usize, func: &mut Function) {
    let eqs = &source.flat.eqs[from..source.flat.eqs.len().min(from + PIECE)];
    let block = func.dfg.make_block();
    func.layout.append_block(block);
    let [arena, scratch] = [(); 2].map(|()| func.dfg.append_block_param(block, types::I64));
    let t = match size_of::<T>() {
        4 => Types { scalar: types::F32, vector: types::F32X4, size: 4 },
        _ => Types { scalar: types::F64, vector: types::F64X2, size: 8 },
    };
    let convention = func.signature.call_conv;
    let pos = FuncCursor::new(func).at_bottom(block);
    let first = eqs.first().map_or(0, |e| e.first);
    let mut piece = Piece {
        source,
        pool,
        pos,
        convention,
        t,
        arena,
        scratch,
        made: Vec::new(),
        first,
        now: from,
        odd: None,
        signatures: [None; 3],
    };
    for e in eqs {
        piece.equation(e);
        piece.now += 1;
    }
    piece.finish();
}

impl<T: Float> Piece<'_, '_, T> {
    fn equation(&mut self, e: &FlatEq) {
        let args = self.source.flat.args(e);
        let placing = &self.source.placings[e.op as usize];
        if is_call(placing, args.len()) {
            return self.call(e, args, placing);
        }
        match placing {
            Placing::Units(parts) => {
                for (k, (unit, at)) in parts.iter().enumerate() {
                    let value = self.unit(*unit, args, *at);
                    self.keep(e.first + k as u32, value);
                }
            }
            Placing::Lane(op, pick) => {
                let members: Vec<Value> = args.iter().map(|&a| self.spread(a)).collect();
                let best = members[1..].iter().fold(members[0], |m, &x| self.extreme(*op == LaneOp::Max, m, x));
                let value = self.pos.ins().extractlane(best, 0);
                self.keep(e.first, value);
                if let Some(pick) = pick {
                    let weights = self.shares(&members, best, pick.ties);
                    weights.into_iter().zip(e.first + 1..).for_each(|(w, v)| self.keep(v, w));
                }
            }
            Placing::Move(_) => {}
        }
    }

    /// Keeps a value: in a register, and, if it will be read from there, in its slot.
    fn keep(&mut self, v: u32, value: Value) {
        if let Some(slot) = self.source.plan.slot(Operand::Value(v)) {
            let offset = self.offset(slot);
            self.pos.ins().store(MemFlags::trusted(), value, self.arena, offset);
        }
        let at = (v - self.first) as usize;
        self.made.resize(self.made.len().max(at + 1), None);
        self.made[at] = Some(value);
        if self.source.checked && self.source.plan.must_check(v) {
            // finite numbers times 0 add up to 0, anything else to NaN
            let zero = self.number(T::ZERO);
            let term = self.pos.ins().fmul(value, zero);
            self.odd = Some(match self.odd {
                None => term,
                Some(sum) => self.pos.ins().fadd(sum, term),
            });
        }
    }

    fn finish(&mut self) {
        if let Some(odd) = self.odd {
            let offset = self.offset(ODD as u32);
            let sum = self.pos.ins().load(self.t.scalar, MemFlags::trusted(), self.arena, offset);
            let sum = self.pos.ins().fadd(sum, odd);
            self.pos.ins().store(MemFlags::trusted(), sum, self.arena, offset);
        }
        self.pos.ins().return_(&[]);
    }

    /// The slots of an arena are below 2^28, so that their offsets fit: see [`super::Machine::new`].
    fn offset(&self, slot: u32) -> i32 {
        slot as i32 * self.t.size
    }

    fn number(&mut self, x: T) -> Value {
        match self.t.size {
            4 => self.pos.ins().f32const(x.to_f64() as f32),
            _ => self.pos.ins().f64const(x.to_f64()),
        }
    }

    fn operand(&mut self, a: Operand) -> Value {
        if let Operand::Value(v) = a
            && self.source.plan.is_near(v, self.now)
            && let Some(value) = self.made[(v - self.first) as usize]
        {
            return value;
        }
        // what is not near has a slot, by the plan
        let offset = self.offset(self.source.plan.slot(a).unwrap_or(ODD as u32));
        self.pos.ins().load(self.t.scalar, MemFlags::trusted(), self.arena, offset)
    }

    fn unit(&mut self, unit: Unit<T>, args: &[Operand], at: [usize; 2]) -> Value {
        if unit == Unit::Pick {
            let one = self.number(T::ONE);
            let [w, a, b] = [0, 1, 2].map(|k| self.operand(args[k]));
            let mask = self.compare(FloatCC::Equal, w, one);
            return self.choose(mask, a, b);
        }
        let a = self.operand(args[at[0]]);
        let b = match unit.arity() {
            2 if args[at[1]] != args[at[0]] => self.operand(args[at[1]]),
            _ => a,
        };
        let truth = |s: &mut Self, cc: FloatCC| {
            let mask = s.compare(cc, a, b);
            s.truth(mask)
        };
        match unit {
            Unit::Add => self.pos.ins().fadd(a, b),
            Unit::Sub => self.pos.ins().fsub(a, b),
            Unit::Mul => self.pos.ins().fmul(a, b),
            Unit::Div => self.pos.ins().fdiv(a, b),
            Unit::Max | Unit::Or | Unit::Min | Unit::And => {
                let [a, b] = [a, b].map(|x| self.pos.ins().splat(self.t.vector, x));
                let v = self.extreme(matches!(unit, Unit::Max | Unit::Or), a, b);
                self.pos.ins().extractlane(v, 0)
            }
            Unit::Less => truth(self, FloatCC::LessThan),
            Unit::LessEqual => truth(self, FloatCC::LessThanOrEqual),
            Unit::Greater => truth(self, FloatCC::GreaterThan),
            Unit::GreaterEqual => truth(self, FloatCC::GreaterThanOrEqual),
            Unit::Equal => truth(self, FloatCC::Equal),
            Unit::NotEqual => {
                let [less, more] = [FloatCC::LessThan, FloatCC::GreaterThan].map(|cc| self.compare(cc, a, b));
                let mask = self.pos.ins().bor(less, more);
                self.truth(mask)
            }
            Unit::TimesRelu => {
                let r = self.relu(b);
                self.pos.ins().fmul(a, r)
            }
            Unit::TimesSlope(at) => {
                let s = self.slope(b, T::ZERO, at, T::ONE);
                self.pos.ins().fmul(a, s)
            }
            Unit::Share(at) => self.side(a, b, T::ZERO, at, T::ONE),
            Unit::Copy => a,
            Unit::Neg => self.pos.ins().fneg(a),
            Unit::Smooth(Smooth::Inv) => {
                let one = self.number(T::ONE);
                self.pos.ins().fdiv(one, a)
            }
            Unit::Smooth(Smooth::Sqrt) => self.pos.ins().sqrt(a),
            Unit::Smooth(Smooth::Power(2)) => self.pos.ins().fmul(a, a),
            Unit::Not => {
                let one = self.number(T::ONE);
                self.pos.ins().fsub(one, a)
            }
            Unit::Relu => self.relu(a),
            Unit::Abs => self.pos.ins().fabs(a),
            Unit::Leaky(s) => {
                let [s, zero] = [s, T::ZERO].map(|x| self.number(x));
                let left = self.pos.ins().fmul(s, a);
                let mask = self.compare(FloatCC::LessThan, a, zero);
                self.choose(mask, left, a)
            }
            Unit::Slope(left, at, right) => self.slope(a, left, at, right),
            Unit::Smooth(f) => match calls::function::<T>(f) {
                Some(f) => self.indirect(0, f as usize, &[a]),
                None => self.held(unit, a, b),
            },
            Unit::Elu(_) | Unit::EluSlope(..) | Unit::Stair(_) | Unit::Pick => self.held(unit, a, b),
        }
    }

    /// A call of bytecode for one operation, which the code keeps.
    fn held(&mut self, unit: Unit<T>, a: Value, b: Value) -> Value {
        let held = Box::new(unit);
        let pointer = self.pos.ins().iconst(types::I64, std::ptr::from_ref(&*held) as i64);
        self.pool.units.push(held);
        self.indirect(1, calls::unit::<T> as *const () as usize, &[pointer, a, b])
    }

    /// An operand in all lanes of a vector.
    fn spread(&mut self, a: Operand) -> Value {
        let x = self.operand(a);
        self.pos.ins().splat(self.t.vector, x)
    }

    /// The larger or the smaller of two: NaN wins, and 0 is above -0.
    ///
    /// The machine's own instruction gives the second if both are zero or one is NaN, so both orders are asked. Where they
    /// differ there are zeros of both signs, of which the bits say which it is, or NaN, which a mask of all bits is.
    /// (The compiler's `fmax` branches at ties, which are frequent in programs made of maxima.)
    fn extreme(&mut self, largest: bool, a: Value, b: Value) -> Value {
        let [this, that] = [(a, b), (b, a)].map(|(a, b)| {
            let first = if largest { (b, a) } else { (a, b) };
            let mask = self.pos.ins().fcmp(FloatCC::LessThan, first.0, first.1);
            self.blend(mask, a, b)
        });
        let both = if largest { self.pos.ins().band(this, that) } else { self.pos.ins().bor(this, that) };
        let odd = self.pos.ins().fcmp(FloatCC::Unordered, a, b);
        let odd = self.as_floats(odd);
        self.pos.ins().bor(both, odd)
    }

    /// `max(0, x)`: the maximum of the machine keeps NaN, if that is its second argument, and adding 0 turns -0 into 0.
    fn relu(&mut self, x: Value) -> Value {
        let zero = self.number(T::ZERO);
        let below = self.pos.ins().fcmp(FloatCC::LessThan, x, zero);
        let r = self.pos.ins().select(below, zero, x);
        self.pos.ins().fadd(r, zero)
    }

    /// A number for each side of zero and for zero itself; NaN for NaN.
    fn slope(&mut self, x: Value, left: T, at: T, right: T) -> Value {
        let zero = self.number(T::ZERO);
        self.side(x, zero, left, at, right)
    }

    /// A number for the left of a border, for the border, and for the right of it.
    fn side(&mut self, x: Value, border: Value, left: T, at: T, right: T) -> Value {
        let (x, border) = (self.pos.ins().splat(self.t.vector, x), self.pos.ins().splat(self.t.vector, border));
        let [l, a, r] = [left, at, right].map(|x| self.number(x));
        let [l, a, r] = [l, a, r].map(|x| self.pos.ins().splat(self.t.vector, x));
        let side = if at == left {
            let above = self.pos.ins().fcmp(FloatCC::GreaterThan, x, border);
            self.blend(above, r, l)
        } else if at == right {
            let below = self.pos.ins().fcmp(FloatCC::LessThan, x, border);
            self.blend(below, l, r)
        } else {
            let above = self.pos.ins().fcmp(FloatCC::GreaterThan, x, border);
            let side = self.blend(above, r, l);
            let tied = self.pos.ins().fcmp(FloatCC::Equal, x, border);
            self.blend(tied, a, side)
        };
        let odd = self.pos.ins().fcmp(FloatCC::Unordered, x, border);
        self.spoiled(side, odd)
    }

    /// How the derivative of a maximum is shared among members that equal the value; NaN for all if that is the value.
    fn shares(&mut self, members: &[Value], y: Value, ties: Ties) -> Vec<Value> {
        let odd = self.pos.ins().fcmp(FloatCC::Unordered, y, y);
        let mut hits: Vec<Value> = members.iter().map(|&x| self.pos.ins().fcmp(FloatCC::Equal, x, y)).collect();
        if ties == Ties::Last {
            hits.reverse();
        }
        if matches!(ties, Ties::First | Ties::Last) {
            // a member takes all unless one before it did
            let mut taken = hits[0];
            for hit in &mut hits[1..] {
                let free = self.pos.ins().band_not(*hit, taken);
                taken = self.pos.ins().bor(taken, *hit);
                *hit = free;
            }
        }
        if ties == Ties::Last {
            hits.reverse();
        }
        let mut share = self.ones();
        if ties == Ties::Average {
            let one = share;
            let mut count: Option<Value> = None;
            for &hit in &hits {
                let one = self.masked(hit, one);
                count = Some(match count {
                    None => one,
                    Some(count) => self.pos.ins().fadd(count, one),
                });
            }
            if let Some(count) = count {
                share = self.pos.ins().fdiv(one, count);
            }
        }
        let weights = hits.into_iter().map(|hit| {
            let w = self.masked(hit, share);
            self.spoiled(w, odd)
        });
        weights.collect()
    }

    /// A mask that is set where a comparison holds.
    fn compare(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        let [a, b] = [a, b].map(|x| self.pos.ins().splat(self.t.vector, x));
        self.pos.ins().fcmp(cc, a, b)
    }

    /// 1 where a mask is set, else 0.
    fn truth(&mut self, mask: Value) -> Value {
        let ones = self.ones();
        let v = self.masked(mask, ones);
        self.pos.ins().extractlane(v, 0)
    }

    fn ones(&mut self) -> Value {
        // the arena is not aligned to vectors
        self.pos.ins().load(self.t.vector, MemFlags::new().with_notrap(), self.arena, 0)
    }

    fn choose(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let [a, b] = [a, b].map(|x| self.pos.ins().splat(self.t.vector, x));
        let v = self.blend(mask, a, b);
        self.pos.ins().extractlane(v, 0)
    }

    fn as_floats(&mut self, mask: Value) -> Value {
        let flags = MemFlags::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
        self.pos.ins().bitcast(self.t.vector, flags, mask)
    }

    fn blend(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let mask = self.as_floats(mask);
        self.pos.ins().bitselect(mask, a, b)
    }

    /// A number where the mask is set, else 0.
    fn masked(&mut self, mask: Value, a: Value) -> Value {
        let mask = self.as_floats(mask);
        self.pos.ins().band(mask, a)
    }

    /// The first lane, NaN where the mask is set: all bits of it are.
    fn spoiled(&mut self, v: Value, mask: Value) -> Value {
        let mask = self.as_floats(mask);
        let v = self.pos.ins().bor(v, mask);
        self.pos.ins().extractlane(v, 0)
    }

    /// Calls a function at an address: of one number, of an operation and two numbers, or of a call, the arena and memory.
    fn indirect(&mut self, kind: usize, address: usize, args: &[Value]) -> Value {
        let known = self.signatures[kind];
        let signature = known.unwrap_or_else(|| {
            let (number, pointer) = (AbiParam::new(self.t.scalar), AbiParam::new(types::I64));
            let mut s = Signature::new(self.convention);
            match kind {
                0 => s.params.push(number),
                1 => s.params.extend([pointer, number, number]),
                _ => s.params.extend([pointer; 3]),
            }
            if kind < 2 {
                s.returns.push(number);
            }
            self.pos.func.import_signature(s)
        });
        self.signatures[kind] = Some(signature);
        let callee = self.pos.ins().iconst(types::I64, address as i64);
        let call = self.pos.ins().call_indirect(signature, callee, args);
        self.pos.func.dfg.inst_results(call).first().copied().unwrap_or(callee)
    }

    /// An operation that finds its arguments in the arena and leaves its results there.
    fn call(&mut self, e: &FlatEq, args: &[Operand], placing: &Placing<T>) {
        let plan = self.source.plan;
        let slots = |of: &mut dyn Iterator<Item = Operand>| of.filter_map(|a| plan.slot(a)).collect();
        let results = &mut (e.first..e.first + e.results).map(Operand::Value);
        let what = match placing {
            Placing::Lane(op, pick) => Called::Lane(*op, *pick),
            Placing::Move(what) => Called::Move(*what),
            Placing::Units(_) => return,
        };
        let call = Box::new(Call {
            what,
            args: slots(&mut args.iter().copied()),
            results: slots(results),
            checked: self.source.checked,
        });
        let pointer = self.pos.ins().iconst(types::I64, std::ptr::from_ref(&*call) as i64);
        self.pool.calls.push(call);
        let perform: unsafe extern "C" fn(*const Call<T>, *mut T, *mut Scratch<T>) = calls::perform::<T>;
        self.indirect(2, perform as usize, &[pointer, self.arena, self.scratch]);
    }
}
