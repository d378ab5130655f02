//! Messages: each says what is wrong, where, and what to do.

use crease_core::Shape;
use crease_formats::{parse, parse_expression};
use insta::assert_snapshot;

fn file(source: &str) -> String {
    parse(source).unwrap_err().render(source, "f.crease")
}

fn expression(source: &str) -> String {
    let shapes = |name: &str| match name {
        "v" => Shape::vector(3).ok(),
        "M" => Shape::new([2, 3]).ok(),
        _ => None,
    };
    parse_expression(source, &shapes).unwrap_err().render(source, "expression")
}

/// Message, marked text and help, in one line.
fn brief(source: &str) -> String {
    let error = parse(source).unwrap_err();
    let place = error.place.start as usize..error.place.end as usize;
    let help = error.help.map(|h| format!(" [{h}]")).unwrap_or_default();
    format!("{} @ {:?}{help}", error.message, source.get(place).unwrap_or("?"))
}

#[test]
fn rendered_in_full() {
    assert_snapshot!(file("program f(x) {\n\tlet y = rleu(x)\n\treturn y\n}"), @r#"
    error: unknown function `rleu`; did you mean `relu`?
     --> f.crease:2:10
      |
    2 |  let y = rleu(x)
      |          ^^^^
    "#);
    assert_snapshot!(expression("v + M"), @r#"
    error: `+` cannot combine shapes [3] and [2, 3]: they must be equal (a scalar is spread by itself; use broadcast for the rest)
     --> expression:1:1
      |
    1 | v + M
      | ^^^^^
    "#);
    assert_snapshot!(expression("(x + 1"), @r#"
    error: expected `)`, found the end of the text
     --> expression:1:7
      |
    1 | (x + 1
      |       ^
      = help: the `(` at line 1, column 1 is still open
    "#);
    assert_snapshot!(file(""), @r#"
    error: the file holds no program; write for example program f(x, y) = relu(x) - relu(-y)
     --> f.crease:1:1
      |
    1 |
      | ^
    "#);
}

#[test]
fn names() {
    let inside = |body: &str| brief(&format!("program sq(x) = x*x program f(x, alpha) = {body}"));
    assert_snapshot!(inside("alhpa + 1"), @r#"unknown name `alhpa`; did you mean `alpha`? @ "alhpa""#);
    assert_snapshot!(inside("foo"), @r#"unknown name `foo` @ "foo""#);
    assert_snapshot!(inside("sqq(x)"), @r#"unknown function `sqq`; did you mean `sq`? @ "sqq""#);
    assert_snapshot!(inside("relu + 1"), @r#"`relu` is a function; it needs its arguments @ "relu" [write relu(x)]"#);
    assert_snapshot!(inside("sq + 1"), @r#"`sq` is a program; it needs its arguments @ "sq" [write sq(...)]"#);
    assert_snapshot!(inside("alpha (x)"), @r#"`alpha` is a value and cannot be called @ "alpha" [write alpha * (...) for a product, alpha[...] for an element]"#);
    assert_snapshot!(inside("f(x, 1)"), @r#"program `f` calls itself; programs can only call earlier ones @ "f""#);
    assert_snapshot!(inside("g(x) program g(x) = x"), @r#"program `g` comes later; programs can only call earlier ones @ "g" [move it up, before the program that calls it]"#);
    assert_snapshot!(inside("exp'(x)"), @r#"`exp` has no joint form @ "exp'" [a tick is for the operations with a kink and for logsumexp, as in relu'(x)]"#);
    assert_snapshot!(inside("select { x > 0 => alpah, else => 0 }"), @r#"unknown name `alpah`; did you mean `alpha`? @ "alpah""#);
    assert_snapshot!(brief("program relu(x) = x"), @r#"`relu` is a word of the language and cannot be the name of a program @ "relu" [choose another name, for example relu_]"#);
    assert_snapshot!(brief("program f(let) = 1"), @r#"`let` is a word of the language and cannot be the name of an input @ "let" [choose another name, for example let_]"#);
    assert_snapshot!(brief("program f(x) { let max = x return max }"), @r#"`max` is a word of the language and cannot be the name of a value @ "max" [choose another name, for example max_]"#);
    assert_snapshot!(brief("program f(x, x) = x"), @r#"there are two inputs named `x` @ "x""#);
    assert_snapshot!(brief("program f(x) = x program f(y) = y"), @r#"there are two programs named `f` @ "f""#);
    assert_snapshot!(brief("program f(x) = x joint g(y) = y, 1"), @r#"there is no earlier program `g` to be the joint of @ "g""#);
}

#[test]
fn structure_of_files() {
    assert_snapshot!(brief("# only a comment"), @r#"the file holds no program; write for example program f(x, y) = relu(x) - relu(-y) @ """#);
    assert_snapshot!(brief("x + 1"), @r#"expected `program`, found `x` @ "x" [a file holds programs, such as program f(x, y) = relu(x) - relu(-y)]"#);
    assert_snapshot!(brief("program f(x) { let y = x }"), @r#"program `f` has no `return` @ "}" [end it with `return ...`]"#);
    assert_snapshot!(brief("program f(x) { return x let y = x }"), @r#"nothing may follow `return` @ "let" [close the program with `}`]"#);
    assert_snapshot!(brief("program f(x) { return x return x }"), @r#"nothing may follow `return` @ "return" [close the program with `}`]"#);
    assert_snapshot!(brief("program f(x) { let y = x"), @r#"expected `}`, found the end of the text @ "" [the `{` at line 1, column 14 is still open]"#);
    assert_snapshot!(brief("program f(x) { return x"), @r#"expected `}`, found the end of the text @ "" [the `{` at line 1, column 14 is still open]"#);
    assert_snapshot!(brief("program f(x) { return x program g(x) = x"), @r#"expected `}`, found `program` @ "program" [the `{` at line 1, column 14 is still open]"#);
    assert_snapshot!(brief("program f(x) { let y = x y return y }"), @r#"expected `let`, `return` or an operator, found `y` @ "y" [a statement is `let v = ...` or `return ...`]"#);
    assert_snapshot!(brief("program f(x = x"), @r#"expected `,` or `)`, found `=` @ "=" [the `(` at line 1, column 10 is still open]"#);
    assert_snapshot!(brief("program f x = x"), @r#"expected `(` and the inputs, found `x` @ "x""#);
    assert_snapshot!(brief("program f(x) x"), @r#"expected `=` or `{`, found `x` @ "x""#);
    assert_snapshot!(brief("program f(x["), @r#"expected the size of an axis, found the end of the text @ """#);
    assert_snapshot!(brief("program f(x[0]) = x"), @r#"shape [0] has an empty axis; every axis needs at least one element @ "[0]""#);
    assert_snapshot!(brief("program f(x[100000, 100000]) = x"), @r#"shape [100000, 100000] has more than 2^27 elements, which is more than one value may have @ "[100000, 100000]""#);
    assert_snapshot!(brief("program f(x) = relu(x) joint f(x) = relu(x)"), @r#"the joint program of `f` must return its value and then one derivative for each input: it returns shapes [[]], expected [[], []] @ "f""#);
    assert_snapshot!(brief("program f(x) = x, x joint f(x) = x, x, x"), @r#"the joint program of `f` must return its value and then one derivative for each input: only a program with one scalar output can have one @ "f""#);
    assert_snapshot!(brief("program f(x) { let a, b = x return a }"), @r#"this gives 1 result for 2 names @ "x""#);
    assert_snapshot!(brief("program f(x) { let a, b, c = sort(x, 1) return a }"), @r#"this gives 2 results for 3 names @ "sort(x, 1)""#);
    assert_snapshot!(brief("program f(x) { let a = sort(x, 1) return a }"), @r#"this gives 2 results for 1 name @ "sort(x, 1)""#);
    assert_snapshot!(brief("program f(x) = sort(x, 1) + 1"), @r#"this gives 2 results where one value is needed @ "sort(x, 1)" [give them names first: let a, b = ...]"#);
}

#[test]
fn expressions() {
    let inside = |body: &str| brief(&format!("program f(x, y, v[3], M[2, 3]) = {body}"));
    assert_snapshot!(inside("2x"), @r#"expected an operator, `program`, `joint` or the end of the file, found `x` @ "x" [write `*` between the factors of a product]"#);
    assert_snapshot!(inside("(2x)"), @r#"expected `)`, found `x` @ "x" [write `*` between the factors of a product]"#);
    assert_snapshot!(inside("x = y"), @r#"expected an operator, `program`, `joint` or the end of the file, found `=` @ "=" [equality is `==`; a name is given with `let`]"#);
    assert_snapshot!(inside("relu(x = y)"), @r#"`relu` has no setting `x` here @ "x" [write relu(x)]"#);
    assert_snapshot!(inside("x < y < 1"), @r#"comparisons do not chain @ "<" [write a < b and b < c]"#);
    assert_snapshot!(inside("x ^ 4294967296"), @r#"an exponent that is an integer must have at most 32 bits @ "4294967296""#);
    assert_snapshot!(inside("x ^"), @r#"expected an expression, found the end of the text @ """#);
    assert_snapshot!(inside("power(x, y)"), @r#"the exponent of `power` must be a number, known when the text is read @ "y" [for other powers write x ^ y]"#);
    assert_snapshot!(inside("power(x, 12345678901/7)"), @r#"the exponent of `power` must be a fraction of integers of at most 32 bits @ "12345678901/7" [for other powers write x ^ y]"#);
    assert_snapshot!(inside("x ^ 2 ^ 3"), @r#"a power is followed by a power or an index @ "^" [use parentheses: (x^2)^3, (x^2)[0], x^(y[0])]"#);
    assert_snapshot!(inside("x ^ -y ^ 3"), @r#"a power is followed by a power or an index @ "^" [use parentheses: (x^2)^3, (x^2)[0], x^(y[0])]"#);
    assert_snapshot!(inside("x ^ v[0]"), @r#"a power is followed by a power or an index @ "[" [use parentheses: (x^2)^3, (x^2)[0], x^(y[0])]"#);
    assert_snapshot!(inside("celu(x, alpha=0)"), @r#"the alpha of `celu` must not be 0 @ "celu(x, alpha=0)" [write celu(x, alpha=1)]"#);
    assert_snapshot!(inside("atan2(x)"), @r#"`atan2` takes 2 arguments, got 1 @ "atan2(x)" [write atan2(y, x)]"#);
    assert_snapshot!(inside("atan2(v, M)"), @r#"`+` cannot combine shapes [3] and [2, 3]: they must be equal (a scalar is spread by itself; use broadcast for the rest) @ "atan2(v, M)""#);
    assert_snapshot!(inside("x +"), @r#"expected an expression, found the end of the text @ """#);
    assert_snapshot!(inside("* x"), @r#"expected an expression, found `*` @ "*""#);
    assert_snapshot!(inside("+x"), @r#"expected an expression, found `+` @ "+" [there is no unary plus]"#);
    assert_snapshot!(inside("(x"), @r#"expected `)`, found the end of the text @ "" [the `(` at line 1, column 34 is still open]"#);
    assert_snapshot!(inside("max(x, y"), @r#"expected `,` or `)`, found the end of the text @ "" [the `(` at line 1, column 37 is still open]"#);
    assert_snapshot!(inside("[x, y"), @r#"expected `,` or `]`, found the end of the text @ "" [the `[` at line 1, column 34 is still open]"#);
    assert_snapshot!(inside("(x]"), @r#"expected `)`, found `]` @ "]" [the `(` at line 1, column 34 is still open]"#);
    assert_snapshot!(inside("x)"), @r#"expected an operator, `program`, `joint` or the end of the file, found `)` @ ")" [nothing is open that it could close]"#);
    assert_snapshot!(inside("()"), @r#"expected an expression, found `)` @ ")""#);
    assert_snapshot!(inside("x $ y"), @r#"stray character '$' @ "$" [comments begin with `#`; there is no such sign in the language]"#);
    assert_snapshot!(inside("x − y"), @r#"stray character '−' @ "−" [the minus sign is `-`]"#);
    assert_snapshot!(inside(".5"), @r#"stray character '.' @ "." [a number starts with a digit: write 0.5, not .5]"#);
    assert_snapshot!(inside("1e999999 * x"), @r#"the exponent is beyond 100000 @ "1e999999""#);
    assert_snapshot!(inside("relu(x, y)"), @r#"`relu` takes 1 argument, got 2 @ "relu(x, y)" [write relu(x)]"#);
    assert_snapshot!(inside("relu()"), @r#"`relu` takes 1 argument, got 0 @ "relu()" [write relu(x)]"#);
    assert_snapshot!(inside("relu(x, at=1)"), @r#"`relu` has no setting `at` here @ "at" [write relu(x)]"#);
    assert_snapshot!(inside("max'(x, y, ties=middle)"), @r#"ties are `first`, `last`, `average` or `every` @ "middle""#);
    assert_snapshot!(inside("max(v, axis=1)"), @r#"there is no axis 1 in shape [3] @ "1""#);
    assert_snapshot!(inside("max(v, axis=x)"), @r#"the axis must be an integer @ "x""#);
    assert_snapshot!(inside("max(v, axis=0, axis=0)"), @r#"`axis` is given twice @ "axis""#);
    assert_snapshot!(inside("order_statistic(v)"), @r#"`order_statistic` needs its position k @ "order_statistic(v)" [write order_statistic(a, b, ..., k=1) or order_statistic(x, k=1, axis=0)]"#);
    assert_snapshot!(inside("order_statistic(v, k=3)"), @r#"`order_statistic`: there is no position 3 among 3 numbers (counted from 0) @ "order_statistic(v, k=3)""#);
    assert_snapshot!(inside("leaky_relu(x)"), @r#"`leaky_relu` needs its slope @ "leaky_relu(x)" [write leaky_relu(x, slope=0.01)]"#);
    assert_snapshot!(inside("leaky_relu(x, 2)"), @r#"`leaky_relu`: the slope must be below 1, got 2 @ "leaky_relu(x, 2)""#);
    assert_snapshot!(inside("v + M"), @r#"`+` cannot combine shapes [3] and [2, 3]: they must be equal (a scalar is spread by itself; use broadcast for the rest) @ "v + M""#);
    assert_snapshot!(inside("v @ M"), @r#"`@` cannot combine shapes [3] and [2, 3]: the last axis of the first must be the last but one of the second @ "v @ M""#);
    assert_snapshot!(inside("reshape(M, [4])"), @r#"`reshape` cannot combine shapes [2, 3] and [4]: they must have equally many elements @ "reshape(M, [4])""#);
    assert_snapshot!(inside("reshape(M, 6)"), @r#"a shape must be a list of integers, such as [3, 2] @ "6""#);
    assert_snapshot!(inside("v[3]"), @r#"there is no index 3 on axis 0 of shape [3] @ "3" [indices count from 0, negative ones from the end]"#);
    assert_snapshot!(inside("v[x]"), @r#"expected an index, found `x` @ "x" [an index is an integer literal or a range such as 0:2]"#);
    assert_snapshot!(inside("v[]"), @r#"an index is missing between the brackets @ "v[]" [write x[0] or x[0:2]]"#);
    assert_snapshot!(inside("v[0, 0]"), @r#"2 indices are too many for shape [3] @ "v[0, 0]""#);
    assert_snapshot!(inside("v[2:1]"), @r#"this range is empty or leaves axis 0 of shape [3] @ "2:1" [first:end:step takes first, but not end]"#);
    assert_snapshot!(inside("[[1, 2], [3]]"), @r#"the parts of a list must be alike, but the first is shape [2] and this one shape [1] @ "[3]""#);
    assert_snapshot!(inside("[[1, 2], 3]"), @r#"the parts of a list must be alike, but the first is shape [2] and this one a number @ "3""#);
    assert_snapshot!(inside("[x, v]"), @r#"the parts of a list must be alike, but the first is a number and this one shape [3] @ "v""#);
    assert_snapshot!(inside("[] + x"), @r#"an empty list has no shape @ "[]""#);
    assert_snapshot!(inside("constant(0.1)"), @r#"`constant` holds a double, and no double is this number @ "0.1" [write ~0.1 for the double that is nearest to 0.1]"#);
    assert_snapshot!(inside("put(x, from=0, sizes=[], strides=[])"), @r#"`put` has a meaning only as an argument of `assemble` @ "put(x, from=0, sizes=[], strides=[])""#);
    assert_snapshot!(inside("view(v, [2])"), @r#"`view` needs its index map: sizes and strides, or a table @ "view(v, [2])" [write view(x, [shape], from=0, sizes=[3], strides=[1])]"#);
    assert_snapshot!(inside("view(v, [9], from=0, sizes=[9], strides=[1])"), @r#"`view`: the index map does not lead from 3 elements to shape [9] @ "view(v, [9], from=0, sizes=[9], strides=[1])""#);
    assert_snapshot!(inside("slice(v, 1, 2)"), @r#"there is no function `slice`; ranges stand in brackets @ "slice(v, 1, 2)" [write x[0:2, :, ::2]]"#);
    assert_snapshot!(inside("select { x > 0 => x }"), @r#"this `select` has no `else` arm @ "}" [end it with `else => ...`, so that it has a value wherever it is run]"#);
    assert_snapshot!(inside("select { x > 0 => x, else => 1, y => 2 }"), @r#"expected `}`, found `y` @ "y" [`else` is the last arm of a selection]"#);
    assert_snapshot!(inside("select { x > 0, else => 1 }"), @r#"expected `=>`, found `,` @ ",""#);
    assert_snapshot!(inside("select { x > 0 => x, else => v }"), @r#"`select` cannot combine shapes [] and [3]: all branches must give the same shapes @ "select { x > 0 => x, else => v }""#);
    assert_snapshot!(inside("select x"), @r#"expected `{` after `select`, found `x` @ "x""#);
    assert_snapshot!(inside("conv2d(M, M)"), @r#"`conv2d` cannot combine shapes [2, 3] and [2, 3]: it takes images [.., C, 2 more] and kernels of 4 axes: two for channels, 2 for the window @ "conv2d(M, M)""#);
    assert_snapshot!(inside("conv1d(M, [[[1]]])"), @r#"`conv1d` cannot combine shapes [2, 3] and [1, 1, 1]: with 1 group the kernels must be [O, C / groups, ...] for the 2 channels of the image, O being divisible by the number of groups @ "conv1d(M, [[[1]]])""#);
    assert_snapshot!(inside("conv1d(M, zeros([2, 2, 4]))"), @r#"`conv1d`: a window that reaches over 4 does not fit into 3, which axis 0 of [3] has with padding @ "conv1d(M, zeros([2, 2, 4]))""#);
    assert_snapshot!(inside("conv1d(M, zeros([2, 1, 1]), stride=[1, 1])"), @r#"`stride` must be one integer @ "[1, 1]""#);
    assert_snapshot!(inside("maxpool(M, [2, 2, 2])"), @r#"`maxpool`: the image needs 3 axes; the window is [2, 2, 2] on shape [2, 3] @ "maxpool(M, [2, 2, 2])""#);
    assert_snapshot!(inside("avgpool(M, 2, ceil=2)"), @r#"`ceil` must be 0 or 1 @ "2""#);
    assert_snapshot!(inside("maxpool(M, 2, count_padding=1)"), @r#"`maxpool` has no setting `count_padding` here @ "count_padding" [write maxpool(x, 2, stride=2, padding=0, dilation=1, ceil=0)]"#);
    assert_snapshot!(inside("conv_transpose1d(M, zeros([2, 1, 1]), padding=2)"), @r#"`conv_transpose1d`: the padding (2, 2) leaves nothing of the 3 along axis 0 @ "conv_transpose1d(M, zeros([2, 1, 1]), padding=2)""#);
    assert_snapshot!(inside("matmul(M, M, transpose=none)"), @r#"what is transposed is `first`, `second` or `both` @ "none""#);
}

#[test]
fn bare_expressions() {
    let brief = |source: &str| parse_expression(source, &|_| None).unwrap_err().to_string();
    assert_snapshot!(brief(""), @r#"the expression is empty; write for example relu(x) - relu(-x)"#);
    assert_snapshot!(brief("x y"), @r#"expected an operator or the end of the expression, found `y` (several outputs are separated by commas)"#);
    assert_snapshot!(brief("2x"), @r#"expected an operator or the end of the expression, found `x` (write `*` between the factors of a product)"#);
    assert_snapshot!(brief("let y = x y"), @r#"expected `;` or an operator, found `y` (a `;` separates `let` from what follows)"#);
    assert_snapshot!(brief("program f(x) = x"), @r#"this is a file of programs, not an expression (write the expression alone)"#);
    assert_snapshot!(brief("sum(v[0])"), @r#"a scalar has no elements to pick (an input gets its shape where it is declared, as in v[3]; that of a bare expression, from the point)"#);
}

#[test]
fn loops() {
    assert_snapshot!(brief("program f(x) = repeat(0, s = x) { return s }"), @r#"a loop has at least one turn @ "0""#);
    assert_snapshot!(brief("program f(x) = repeat(x, s = x) { return s }"), @r#"the number of turns must be an integer @ "x""#);
    assert_snapshot!(brief("program f(x) = repeat(3, s x) { return s }"), @r#"expected `=` and a first value, or `in` and a sequence, found `x` @ "x" [as in repeat(10, s = x, v in w) { return s * v }]"#);
    assert_snapshot!(brief("program f(x) = repeat(3, s = x, s = x) { return s }"), @r#"`s` is bound twice in this loop @ "s""#);
    assert_snapshot!(brief("program f(x) = scan(s = x) { return s }"), @r#"`scan` needs a sequence to go through, as in scan(s = 0, v in x) { ... } @ "scan" [repeat(n, ...) goes by number]"#);
    assert_snapshot!(brief("program f(x) = scan(s = 0, v in x) { return s }"), @r#"`v` goes through a scalar, which has no parts @ "v""#);
    assert_snapshot!(brief("program f(x[3]) = repeat(2, s = 0, v in x) { return s + v }"), @r#"`v` goes through 3 parts, but the loop has 2 turns @ "v""#);
    assert_snapshot!(brief("program f(x[3]) = repeat(2, s = 0) { return s + x }"), @r#"`s` is a scalar before a turn and of shape [3] after it @ "s" [begin with a value of that shape, such as zeros([3])]"#);
    assert_snapshot!(brief("program f(x) = repeat(2, s = x, t = x) { return s }"), @r#"the body returns 1 of the 2 carried values @ "repeat(2, s = x, t = x) { return s }" [return the next value of each of them first]"#);
    assert_snapshot!(brief("program f(x) = repeat(2, s = x) { let t = s }"), @r#"this loop has no `return` @ "}" [end it with `return ...`]"#);
    assert_snapshot!(brief("program f(x) = repeat(2, s = x) { return s "), @r#"expected `}`, found the end of the text @ "" [the `{` at line 1, column 33 is still open]"#);
    assert_snapshot!(brief("program f(x) = repeat(2, s = x { return s }"), @r#"expected `,` or `)`, found `{` @ "{" [the `(` at line 1, column 22 is still open]"#);
    assert_snapshot!(brief("program f(in) = in"), @r#"`in` is a word of the language and cannot be the name of an input @ "in" [choose another name, for example in_]"#);
    assert_snapshot!(brief("program f(x) = repeat(2, s = x) { return y }"), @r#"unknown name `y` @ "y""#);
    assert_snapshot!(brief("program f(x) = repeat"), @r#"expected `(` after the word for a loop, found the end of the text @ """#);
    let deep = format!("program f(x) = {}x{}", "repeat(1, s = ".repeat(200), ") { return s }".repeat(200));
    assert!(brief(&deep).starts_with("loops are nested more than 100 deep"));
    let deep = format!("program f(x) = {}s{}", "repeat(1, s = x) { return ".repeat(200), " }".repeat(200));
    assert!(brief(&deep).starts_with("loops are nested more than 100 deep"));
}
