"""Arithmetic that a language model wrote down: its expressions are walked, never run."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext

from simia.errors import FormatError

MOST_CHARS = 400

_MOST_EXPONENT = 100
_LIMIT = Decimal(10) ** 30
# Room for exact products of two numbers within the limit; what is not exact is rounded once more at the end.
_WORKING = Context(prec=64, traps=[InvalidOperation, DivisionByZero, Overflow])
_RESULT = Context(prec=30, traps=[InvalidOperation, DivisionByZero, Overflow])
_CHARACTERS = re.compile(r"[0-9A-Za-z.,+\-*/%()\[\] ]*")
_WORDS = re.compile(r"[A-Za-z]+")


def calculate(expression: str) -> int | float:
    """The value of an expression over decimal numbers: ``0.1 + 0.2`` is ``0.3``. A whole number is an int.

    It knows ``+ - * / // % **``, parentheses, and round, min, max, sum and abs of numbers or of one list of them, with
    the meaning of Python; ``round`` goes to the even neighbour. Every value on the way is below 10**30.

    Raises:
        FormatError: it is something else, or has no such value; says what to do, for the one who wrote it.
    """
    shown = f"{expression!r:.80}"
    if len(expression) > MOST_CHARS:
        raise FormatError(f"the expression has {len(expression)} characters, at most {MOST_CHARS} may be: split it")
    # What may not stand in an expression is refused before Python's parser sees it: that one warns of some texts.
    strangers = sorted({*_WORDS.findall(expression)} - {*_FUNCTIONS, "e", "E"})
    if strangers or not _CHARACTERS.fullmatch(expression):
        what = f"{', '.join(strangers)[:80]} is not known" if strangers else "a character is not known"
        raise FormatError(f"{shown}: {what}; write numbers, + - * / // % ** ( ) and {', '.join(_FUNCTIONS)}")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        with localcontext(_WORKING):
            value = _RESULT.plus(_value(tree.body, expression.strip()))
            return int(value) if value == value.to_integral_value() else float(value)
    except ZeroDivisionError:
        raise FormatError(f"{shown}: division by zero") from None
    except (ArithmeticError, ValueError):
        raise FormatError(f"{shown} has no value that is a number") from None
    except (SyntaxError, RecursionError, MemoryError):
        raise FormatError(f'{shown} is no expression: write for example "3 * 12.50 + 4"') from None


def _value(node: ast.expr, text: str) -> Decimal:
    match node:
        case ast.Constant(value=int() | float()):
            # As it is written: 12.50 as a float of Python is already another number.
            value = Decimal(text[node.col_offset : node.end_col_offset])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_value(operand, text)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            value = _value(operand, text)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            value = _OPERATORS[type(operator)](_value(left, text), _value(right, text))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            value = _FUNCTIONS[name]([_value(one, text) for one in _listed(arguments)])
        case _:
            part = ast.get_source_segment(text, node) or text
            raise FormatError(f"{part!r:.80} is neither a number nor one of {', '.join(_FUNCTIONS)} of numbers")
    if abs(value) >= _LIMIT:
        raise FormatError(f"{text!r:.80}: a value on the way is 10**30 or more")
    return value


def _listed(arguments: Sequence[ast.expr]) -> Sequence[ast.expr]:
    """The arguments of a function, also where they stand in one list."""
    match arguments:
        case [ast.List(elts=elements) | ast.Tuple(elts=elements)]:
            return elements
    return arguments


def _floor_divided(a: Decimal, b: Decimal) -> Decimal:
    quotient, rest = divmod(a, _divisor(b))  # of Decimal: towards zero
    return quotient - 1 if rest and (rest < 0) != (b < 0) else quotient


def _modulo(a: Decimal, b: Decimal) -> Decimal:
    rest = a % _divisor(b)
    return rest + b if rest and (rest < 0) != (b < 0) else rest


def _divisor(b: Decimal) -> Decimal:
    if not b:
        raise ZeroDivisionError
    return b


def _power(base: Decimal, exponent: Decimal) -> Decimal:
    if abs(exponent) > _MOST_EXPONENT:
        raise FormatError(f"the exponent {exponent} is beyond {_MOST_EXPONENT}")
    if not exponent:
        return Decimal(1)
    return Decimal(_divisor(base) if exponent < 0 else base) ** exponent


def _rounded(values: Sequence[Decimal]) -> Decimal:
    if len(values) not in (1, 2):
        raise FormatError("round takes a number, and how many decimals where it is not rounded to a whole one")
    places = values[1] if len(values) == 2 else Decimal(0)
    if places != places.to_integral_value() or abs(places) > 20:
        raise FormatError(f"round cannot round to {places} decimals: write a whole number up to 20")
    return Decimal(round(values[0], int(places)))


def _absolute(values: Sequence[Decimal]) -> Decimal:
    if len(values) != 1:
        raise FormatError(f"abs takes one number, not {len(values)}")
    return abs(values[0])


def _some(values: Sequence[Decimal]) -> Sequence[Decimal]:
    if not values:
        raise FormatError("min and max take at least one number")
    return values


_OPERATORS: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / _divisor(b),
    ast.FloorDiv: _floor_divided,
    ast.Mod: _modulo,
    ast.Pow: _power,
}
_FUNCTIONS: Mapping[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "round": _rounded,
    "min": lambda values: min(_some(values)),
    "max": lambda values: max(_some(values)),
    "sum": lambda values: sum(values, Decimal(0)),
    "abs": _absolute,
}
