"""x_i = c: planes in the middle and at the ends of what is too narrow to be seen (`bells`) in a statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pibls.problem.breaks.bells import Suspects, narrow_places
from pibls.problem.breaks.planes import Breaks, Plane, SwitchBox, levels_of, terms_of
from pibls.problem.forms.form import Form


def suspects_of(forms: Sequence[Form], place: SwitchBox) -> Suspects:
    """What may be too narrow to be seen in some statements, at some values of the parameters."""
    v = place.variables
    return Suspects.of([e for form in forms for e in _given(form)], v.coordinates, v.parameters)


def narrow_in(form: Form, place: SwitchBox) -> Breaks:
    """Around what is too narrow to be seen."""
    levels: dict[tuple[int, float], None] = {}
    for e in map(place.fixed, _given(form)):
        levels |= narrow_places(
            e, place.variables.coordinates, place.box, lambda g, axis: levels_of(g, False, axis, place)
        )
    return Breaks(tuple(Plane(axis, level, flux=False) for axis, level in sorted(levels)))


def _given(form: Form) -> list[Any]:
    return [e for part in (form, *(f.form for f in form.fluxes)) for e in terms_of(part)]
