"""Number types with the bounds that recipe values must satisfy."""

from typing import Annotated

from annotated_types import Ge, Gt, Interval

Share = Annotated[float, Interval(ge=0, le=1)]
PositiveInt = Annotated[int, Ge(1)]
PositiveFloat = Annotated[float, Gt(0)]
NonNegativeFloat = Annotated[float, Ge(0)]
