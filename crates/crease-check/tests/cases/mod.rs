//! Valid certificates, written by hand.

/// All of them, with a name for messages.
pub const ALL: [(&str, &str); 14] = [
    ("RELU", RELU),
    ("DEAD_TIES", DEAD_TIES),
    ("MEMBER", MEMBER),
    ("LINEAR", LINEAR),
    ("IDENTITY", IDENTITY),
    ("MAX_PLUS_MIN", MAX_PLUS_MIN),
    ("EQUAL_ITEMS", EQUAL_ITEMS),
    ("LATTICE", LATTICE),
    ("FARKAS", FARKAS),
    ("DROPS", DROPS),
    ("SUM_OF_RELUS", SUM_OF_RELUS),
    ("LARGER_ITEMS", LARGER_ITEMS),
    ("FACTS", FACTS),
    ("NESTED_FACTS", NESTED_FACTS),
];

/// relu(x).
pub const RELU: &str = "crease-certificate 1
claim not-differentiable
dimension 1
kinks 1
max 0 ; 1*d0
output 1*k0
side
direction 1*d0
gradient 1*d0
side
direction -1*d0
gradient 0
end
";

/// max(relu(x), relu(2 x)) + |y|/2 + max(x - y, x + y): along (-1, 2) both relus are zero, which is a tie of no consequence.
pub const DEAD_TIES: &str = "crease-certificate 1
claim not-differentiable
dimension 2
kinks 5
max 0 ; 1*d0
max 0 ; 2*d0
max 1*k0 ; 1*k1
# half of |y|
max 1/2*d1 ; -1/2*d1
max 1*d0 -1*d1 ; 1*d0 1*d1
output 1*k2 1*k3 1*k4
side
direction -1*d0 2*d1
gradient 1*d0 3/2*d1
side
direction 3*d0 -1/7*d1
gradient 3*d0 -3/2*d1
end
";

/// A vector in the subdifferential of |x| + |y|, the mean of three gradients.
pub const MEMBER: &str = "crease-certificate 1
claim member
dimension 2
kinks 2
max 1*d0 ; -1*d0
max 1*d1 ; -1*d1
output 1*k0 1*k1
vector 1/3*d0 -1/2*d1
side 1/3
direction -1*d0 -1*d1
gradient -1*d0 -1*d1
side 1/4
direction 1*d0 2*d1
gradient 1*d0 1*d1
side 5/12
direction 1*d0 -2*d1
gradient 1*d0 -1*d1
end
";

/// No kink at all.
pub const LINEAR: &str = "crease-certificate 1
claim differentiable
dimension 3
kinks 0
output 2*d0 -1/3*d2
gradient -1/3*d2 2*d0
relus 0
end
";

/// relu(x) - relu(-x).
pub const IDENTITY: &str = "crease-certificate 1
claim differentiable
dimension 1
kinks 2
max 0 ; 1*d0
max 0 ; -1*d0
output 1*k0 -1*k1
gradient 1*d0
relus 1
relu 1*d0
kink 1 0 z0
kink 0 1 z0
end
";

/// max(x, y) + min(x, y).
pub const MAX_PLUS_MIN: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 2
max 1*d0 ; 1*d1
max -1*d0 ; -1*d1
output 1*k0 -1*k1
gradient 1*d0 1*d1
relus 1
relu 2*d0 -2*d1
kink 0 1 z0
kink 1 0 z0
end
";

/// 3 max(x, y, x) - 3 max(max(x, y), y, max(x, y, x)), where items are equal.
pub const EQUAL_ITEMS: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 3
max 1*d0 ; 1*d1 ; 1*d0
max 1*d0 ; 1*d1
max 1*k1 ; 1*d1 ; 1*k0
output 3*k0 -3*k2
gradient 0
relus 2
relu 1*d0 -1*d1
relu 1*z0
kink 0 2 = 3 1 z0
kink 0 1 z0
kink 0 2 = 1 3 z1
atom > -3*z1 3*z0
atom > 3*z1 -3*z0
root 1 2
atom > 1*z0
split 1 z1 3 F
atom > -1*z0
split 2 z1 4 F
atom > -1*d0 1*d1
split 4 z0 F 5
end
";

/// min(relu(max(x, y)), relu(max(x, -y)), relu(max(-x, y)), relu(max(-x, -y))): zero, because the four clauses contradict each other.
pub const LATTICE: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 9
max 1*d0 ; 1*d1
max 0 ; 1*k0
max 1*d0 ; -1*d1
max 0 ; 1*k2
max -1*d0 ; 1*d1
max 0 ; 1*k4
max -1*d0 ; -1*d1
max 0 ; 1*k6
max -1*k1 ; -1*k3 ; -1*k5 ; -1*k7
output -1*k8
gradient 0
relus 9
relu 1*d0 -1*d1
relu 1*d1 1*z0
relu 1*d0 1*d1
relu -1*d1 1*z2
relu -1*d0 1*z2
relu -1*d0 1*z0
relu -1*z1 1*z3
relu -1*z3 1*z6 1*z4
relu -1*z4 1*z7 1*z5
kink 0 1 z0
kink 1 0 z1
kink 0 1 z2
kink 1 0 z3
kink 0 1 z2
kink 1 0 z4
kink 0 1 z0
kink 1 0 z5
kink 0 1 z6 4 2 z7 5 3 z8
# the output is positive only if all four relus are
atom > 1*z5 -1*z8
atom > -1*z5 1*z8
root 1 2
atom > 2*z5
atom > 1*z4 -1*z7
split 1 z8 3 4
atom > 1*z4
atom > 1*z3 -1*z6
split 4 z7 5 6
atom > 1*z3
atom > 1*z1
split 6 z6 7 8
# each relu is positive only if its clause is true
atom > 1*d0
atom >= 3*d1
atom > -1*d0 1*z0
split 3 z5 F 11
split 11 z0 -9 -10
atom > -1*d0 1*z2
split 5 z4 F 12
split 12 z2 -9 10
atom > -1*d1 1*z2
split 7 z3 F 13
split 13 z2 -10 9
atom > 1*d1 1*z0
split 8 z1 F 14
split 14 z0 10 9
learn -1 9
learn -1
# and it is never negative: each relu in turn
atom > -1*z5
atom > -1*z4 1*z7
split 2 z8 15 16
atom > -1*z4
atom > -1*z3 1*z6
split 16 z7 17 18
atom > -1*z3
atom > -1*z1
split 18 z6 19 20
atom > 1*d0 -1*z0
split 15 z5 F 21
phase z4
lemma 17 1 22 1
lemma 17 1 -22 0
learn -17
phase z3
lemma 19 2 23 2
lemma -23 0 19 1
learn -19
phase z1
lemma 20 1/2 24 1/2
lemma 20 1 -24 0
learn -20
end
";

/// relu(relu(x) + relu(y)) - relu(x) - relu(y).
pub const FARKAS: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 3
max 0 ; 1*d0
max 1*d1 ; 0
max 1*k0 1*k1 ; 0
output 1*k2 -1*k0 -1*k1
gradient 0
relus 3
relu 1*d0
relu 1*d1
relu 1*z0 1*z1
kink 0 1 z0
kink 0 1 z1
kink 0 1 z2
atom > 1*z2 -1*z0 -1*z1
atom > -1*z2 1*z0 1*z1
root 1 2
phase z0
phase z1
phase z2
lemma 1 1 5 0
lemma 2 1 5 0
lemma -5 1 3 1 4 1
lemma -5 1 3 1 -4 0
lemma -5 1 -3 0 4 1
lemma -5 1 -3 0 -4 0
learn 5 -3
learn 5
end
";

/// The same with clauses that are dropped, literals twice, tautologies, and statements that are not strict.
pub const DROPS: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 3
max 0 ; 1*d0
max 1*d1 ; 0
max 1*k0 1*k1 ; 0
output 1*k2 -1*k0 -1*k1
gradient 0
relus 3
relu 1*d0
relu 1*d1
relu 1*z0 1*z1
kink 1 0 z0
kink 1 0 z1
kink 1 0 z2
atom >= 1*z2 -1*z0 -1*z1
atom >= -1*z2 1*z0 1*z1
root -2 -1
atom > 1*z0 1*z1
atom >= -1*z0 -1*z1
phase z2
lemma -1 1 -1 0 5 0
drop -5 1
learn 3 -3 4
drop 4 -3 3 4
lemma -2 1/3 5 0
learn 1 2 -5
drop 1 -5 2
# -1 is false: z0 + z1 less relu(z0 + z1) is not positive
split -1 z2 3 F
drop 1 3
drop 1
atom >= 2*z0 2*z1
split -2 z2 -6 F
# statements that are not strict, and one that is both
atom >= -1*z1
atom >= -1*d0 -1*z1
split 4 z0 7 8
atom > 1*d1
split 7 z1 T -9
phase z0
phase z1
lemma -6 1 10 2 11 2
lemma -6 1 10 2 -11 0
lemma -6 1 -10 0 11 2
lemma -6 1 -10 0 -11 0
learn 6 -10 -10
drop -10 6
learn 6 -10
drop 6 -11 -10
learn 6
end
";

/// Once more, without a clause: what is at least 0 is its own relu.
pub const SUM_OF_RELUS: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 3
max 0 ; 1*d0
max 1*d1 ; 0
max 1*k0 1*k1 ; 0
output 1*k2 -1*k0 -1*k1
gradient 0
relus 2
relu 1*d0
relu 1*d1
kink 1 0 z0
kink 0 1 z1
kink 0 1 >=
end
";

/// Items that are larger than others, where the direction cancels, kinks have to be replaced, and twice the two are equal.
pub const LARGER_ITEMS: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 5
max 0 ; 1*d0
max 1*d1 ; 0
max 1*d0 -1*k0 ; 1*d0 2*k0 1/2*k1 ; 1*d1 ; 1*d0 1*k0
max 1*d1 ; 1*d0 2*k0 1/2*k1 ; 1*d0 2*k0 1/2*k1
max 1*k2 ; 1*d1 ; 1*k3
output 1*k4 -3*k2 2*k3
gradient 0
relus 3
relu 1*d0
relu 1*d1
relu 2*d0 -2*d1 4*z0 1*z1
kink 1 0 z0
kink 0 1 z1
kink 1 0 >= 4 3 >= 5 2 z2
kink 2 1 >= 0 3 z2
kink 0 1 >= 3 2 >=
end
";

/// relu(u) - u with u = relu(x) + relu(y) - relu(x + y): u is nowhere negative.
pub const FACTS: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 4
max 0 ; 1*d0
max 0 ; 1*d1
max 0 ; 1*d0 1*d1
max 0 ; 1*k0 1*k1 -1*k2
output 1*k3 -1*k0 -1*k1 1*k2
gradient 0
relus 4
relu 1*d0
relu 1*d1
relu 1*d0 1*d1
relu 1*z0 1*z1 -1*z2
kink 1 0 z0
kink 1 0 z1
kink 1 0 z2
kink 1 0 z3
atom > 1*z3 -1*z0 -1*z1 1*z2
atom > -1*z3 1*z0 1*z1 -1*z2
root 1 2
# a relu is at least its form
lemma 2 1 w3 1
atom > 1*z2 -1*z0 -1*z1
split 1 z3 3 F
phase z2
lemma 3 1 4 0 w0 1 w1 1
lemma 3 1 z0 1 -4 0 z1 1
end
";

/// relu(relu(2 x + relu(y)) - 2 relu(x) - relu(y)) + relu(2 x + relu(y) - relu(2 x + relu(y))), with facts about a relu in another, with
/// fractions, twice, and beside the relu's phase.
pub const NESTED_FACTS: &str = "crease-certificate 1
claim differentiable
dimension 2
kinks 5
max 0 ; 1*d0
max 0 ; 1*d1
max 0 ; 2*d0 1*k1
max 0 ; -2*k0 -1*k1 1*k2
max 0 ; 2*d0 1*k1 -1*k2
output 1*k3 1*k4
gradient 0
relus 5
relu 1*d0
relu 1*d1
relu 2*d0 1*z1
relu -2*z0 -1*z1 1*z2
relu 2*d0 1*z1 -1*z2
kink 1 0 z0
kink 1 0 z1
kink 1 0 z2
kink 1 0 z3
kink 1 0 z4
atom > 1*z3 1*z4
atom > -1*z3 -1*z4
root 1 2
lemma 2 1/2 z3 1/2 z4 1/2
atom > 1*z3
atom > 2*d0 1*z1 -1*z2 1*z3
split 1 z4 3 4
atom > -2*z0 -1*z1 1*z2
split 3 z3 F 5
phase z2
lemma 5 1/2 6 0 w0 1
phase z1
lemma 5 3 -6 0 -7 0 z0 3 z0 3
lemma 5 3 -6 0 7 0 z0 6 z1 2 w1 1 7 1
learn -5
atom > 2*d0 1*z1 -1*z2
atom > 1*d0 -1*z0
split 4 z3 8 9
lemma 8 1 w2 1
lemma 9 1 w0 1 z0 0
end
";
