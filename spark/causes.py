"""Tell why a database or catalog refused to return rows, so that the advice fits the cause.

The codes of PostgreSQL (SQLSTATE), MariaDB and MySQL decide first, because their messages may be in
any language. The words of the message decide for all other systems.
"""

import re
from enum import Enum


class Cause(Enum):
    """A cause of an error of a database; its value is the advice to users."""

    DIVISION = "Correct the expression that divides by zero, or leave the table out"
    FUNCTION = "Create the function that it calls, or correct its definition"
    TIME = "It takes longer than the time limit allows. Make it faster, or leave it out"
    CONNECTION = "The connection was lost. Run again when the database answers"
    PRIVILEGE = "Let the connection's user select from it"
    DEFINITION = "Correct its definition, which needs what no longer exists"
    DATA = "Correct the values or the expression that cannot be computed, or leave the table out"
    OTHER = "Read it as the connection's user, to see what is wrong"


_SIGNS = {
    Cause.DIVISION: (r"22012|1365", r"divi(?:sion|ded?)[ _]by[ _]zero"),
    Cause.FUNCTION: (
        r"42883|1305",
        r"(?:function|routine)\b.*(?:does not exist|not found|unknown)|no such function",
    ),
    Cause.TIME: (
        r"57014|55P03|1205|1969|3024",
        r"time(?:d)?[ -]?out|time limit|too long|execution time|interrupted",
    ),
    Cause.CONNECTION: (
        r"08\w{3}|57P0\d|1053|1927|200[236]|2013|2055",
        r"(?:connection|server) .*(?:closed|refused|gone|terminat)|lost conn|could not connect",
    ),
    Cause.PRIVILEGE: (
        r"42501|1044|1045|1142|1143|1227|1370",
        r"permission|privilege|denied|not authori[sz]ed|unauthori[sz]ed|forbidden",
    ),
    Cause.DEFINITION: (
        r"42P01|42703|42704|3F000|1054|1146|1356|1449",
        r"(?:does not|doesn't|no longer) exist|not[ _]found|no such|unknown (?:table|column)",
    ),
    Cause.DATA: (
        r"22\w{3}|1264|1292|1366|1411|1425|1690",
        r"invalid|out of range|overflow|malformed|corrupt|incorrect|convert|cast",
    ),
}
"""For each cause, the codes and the words that tell it. The first whose words match is taken."""


def cause_of(reason: str, code: str = "") -> Cause:
    """Return the cause of a database's error.

    Examples:
        >>> cause_of("division by zero").name, cause_of("Teilung durch Null", "22012").name
        ('DIVISION', 'DIVISION')
        >>> cause_of("Access Denied: Cannot select from columns [pay]").name
        'PRIVILEGE'
        >>> cause_of("function f(integer) does not exist").name
        'FUNCTION'
        >>> cause_of("the disk is full").name
        'OTHER'
    """
    by_code = (cause for cause, (codes, _) in _SIGNS.items() if re.fullmatch(codes, code))
    by_words = (
        cause for cause, (_, words) in _SIGNS.items() if re.search(words, reason, re.IGNORECASE)
    )
    return next(by_code, None) or next(by_words, Cause.OTHER)
