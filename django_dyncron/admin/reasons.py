"""The page between the button and the pause, which asks for the reason."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from .crumbs import HAS_CRUMBS_IN_LIST
from .database import Base
from .form_actions import FORM_ACTION

REASON = "reason"
_CARRIED = ("action", "index", "select_across", ACTION_CHECKBOX_NAME, FORM_ACTION)
"""What tells the same action to be taken again, on the same rows."""


class _ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        max_length=500,
        help_text=_("Everybody who looks at the list sees it. It may be left empty."),
        widget=forms.TextInput(attrs={"class": "vTextField", "autofocus": True}),
    )


def given_reason(request: HttpRequest) -> str | None:
    """Return the reason that was posted, maybe empty; ``None`` if it is still to be asked for."""
    if request.method != "POST" or REASON not in request.POST:
        return None
    form = _ReasonForm(request.POST)
    return str(form.cleaned_data[REASON]) if form.is_valid() else None


def ask_reason(
    model_admin: Base,
    request: HttpRequest,
    title: str,
    names: Sequence[str] = (),
    most_names: int = 0,
) -> HttpResponse:
    """Answer with the page; of ``names``, up to ``most_names`` are shown."""
    posted = request.POST if REASON in request.POST else None
    carried = ((name, value) for name in _CARRIED for value in request.POST.getlist(name))
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "has_crumbs_in_list": HAS_CRUMBS_IN_LIST,
        "back_url": request.get_full_path() if names else "..",
        "title": title,
        "names": names[:most_names],
        "has_more": len(names) > most_names,
        "form": _ReasonForm(posted),
        "carried": list(carried),
        "media": model_admin.media,
    }
    request.current_app = model_admin.admin_site.name
    return TemplateResponse(request, "admin/django_dyncron/cronjob/pause.html", context)
