"""Number types that restrict the values in a recipe, such as `PositiveInt`."""

from typing import Annotated

from annotated_types import Ge, Gt, Interval

Share = Annotated[float, Interval(ge=0, le=1)]
PositiveInt = Annotated[int, Ge(1)]
PositiveFloat = Annotated[float, Gt(0)]
NonNegativeFloat = Annotated[float, Ge(0)]
