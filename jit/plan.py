"""Which programs a command line means, and how each is to be run: names, options and settings files become plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fullgraph.lint.config import Config, ConfiguredTarget

from .inputs import Factory, parse, parse_all
from .targets import VARIATIONS, Module, Object, PytestTest, Settings, Target, TargetError, parse_module, parse_target

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True, slots=True)
class Plan:
    """One target, and its own settings."""

    target: Target
    settings: Settings


def plans(
    texts: Sequence[str], modules: Sequence[str], arguments: tuple[str, ...], settings: Settings, config: Config
) -> list[Plan]:
    """Of the targets in their order, then the modules; of all that the settings file names if there are none."""
    named = {target.name: target for target in config.targets}
    if not (texts or modules):
        if not named:
            raise TargetError(
                "Missing argument 'TARGET...': name a script, PATH::QUALNAME, package.module:name or a pytest test, or "
                "write targets into [tool.fullgraph.targets]"
            )
        texts = tuple(named)
    made = [*_named(texts, arguments, settings, config, named), *_modules(modules, arguments, settings)]
    if arguments and all(isinstance(plan.target.program, Object) for plan in made):
        raise TargetError(f"what follows `--` is for scripts, modules and tests; {made[0].target.text} is none of them")
    for plan in made:
        _check(plan)
    return made


def _named(
    texts: Sequence[str],
    arguments: tuple[str, ...],
    settings: Settings,
    config: Config,
    named: dict[str, ConfiguredTarget],
) -> Iterator[Plan]:
    for text in texts:
        if text in named:
            yield _configured(named[text], arguments, settings, config.root)
            continue
        try:
            yield Plan(parse_target(text, arguments), settings)
        except TargetError as error:
            if named and text.isidentifier():
                raise TargetError(f"{error}, and no target of that name; there are {', '.join(named)}") from None
            raise


def _modules(names: Sequence[str], arguments: tuple[str, ...], settings: Settings) -> Iterator[Plan]:
    for name in names:
        yield Plan(parse_module(name, arguments), settings)


def _configured(own: ConfiguredTarget, arguments: tuple[str, ...], given: Settings, root: Path) -> Plan:
    """Options of the command line outrank the target's own settings."""
    arguments = arguments or own.arguments
    if own.target.startswith("-m "):
        target = parse_module(own.target.removeprefix("-m ").strip(), arguments, root)
    else:
        target = parse_target(own.target, arguments, root)
    settings = replace(
        given,
        inputs=given.inputs or own.inputs,
        init=given.init or own.init,
        vary=given.vary or own.vary,
        training=own.train if given.training is None else given.training,
        fake=given.fake or own.fake,
        device=given.device or own.device,
    )
    return Plan(replace(target, text=own.name), settings)


def _check(plan: Plan) -> None:
    """Mistakes that can be told before anything runs. Raises TargetError or InputError."""
    target, settings = plan.target, plan.settings
    for_objects = {
        "--input": settings.inputs,
        "--init": settings.init,
        "--vary": settings.vary,
        "--fake": settings.fake,
        "--device": settings.device,
    }
    given = [option for option, value in for_objects.items() if value]
    if given and not isinstance(target.program, Object):
        kind = {Module: "module", PytestTest: "test"}.get(type(target.program), "script")
        raise TargetError(f"{given[0]} is for PATH::QUALNAME; {target.text} is a {kind}, which makes its own inputs")
    for text in settings.inputs:
        match parse(text):
            case Factory(reference) if not isinstance(parse_target(reference).program, Object):
                raise TargetError(f"--input {reference!r} does not name a function")
    parse_all(settings.init or "")
    if unknown := [kind for kind in settings.vary if kind not in VARIATIONS]:
        raise TargetError(f"--vary {unknown[0]!r}: it can vary {', '.join(VARIATIONS)}")
    if settings.device not in (None, *DEVICES):
        raise TargetError(f"--device {settings.device!r}: it can be {' or '.join(DEVICES)}")
    if settings.fake and settings.backend not in (None, "eager"):
        raise TargetError(f"--fake computes nothing, so that --backend {settings.backend} would have nothing to run")
