"""Numbers that a recipe may give, with their bounds."""

from typing import Annotated

from annotated_types import Ge, Gt, Interval

Share = Annotated[float, Interval(ge=0, le=1)]
Count = Annotated[int, Ge(1)]
CountOrNone = Annotated[int, Ge(0)]
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
