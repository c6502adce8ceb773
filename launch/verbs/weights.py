"""Weights on hosts: what is where and who needs it, whether it is still right, and what may go, caches too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from inventory.errors import BringupError, CheckFailed, ExitCode, raise_all
from inventory.fleet import Fleet
from launch import request
from launch.caches.collect import caches_held_by, caches_removed
from launch.caches.holdings import CacheFolder, CacheVerdict, judged_caches
from launch.console.report import Report, print_json, print_table
from launch.console.sizes import size
from launch.verbs import arguments
from launch.weights.holdings import Held, Holding, Verdict, judged
from launch.weights.hosts import Compared, compared, held_by, removed
from playbooks.control import locked, this_run

if TYPE_CHECKING:
    from inventory.schema import Host

KIND = "weights"


def weights_list(*, hosts: str, inventory: str, json: bool) -> ExitCode:
    """Every folder of weights of every host, and who needs it."""
    with Fleet(arguments.chosen_hosts(hosts, inventory)) as fleet:
        found, errors = _held(fleet)
    if json:
        print_json(KIND, [_row(one) for held in found.values() for one in held.holdings])
    else:
        _table([one for held in found.values() for one in held.holdings])
    raise_all(errors)
    return ExitCode.DONE


def _held(fleet: Fleet) -> tuple[dict[str, Held], list[BringupError]]:
    outcomes = held_by(fleet, tuple(fleet.hosts))
    found = {host: one for host, one in outcomes.items() if not isinstance(one, BringupError)}
    return found, [one for one in outcomes.values() if isinstance(one, BringupError)]


def _row(one: Holding) -> dict[str, object]:
    return {
        "host": one.host,
        "model": one.repo,
        "commit": one.commit,
        "path": one.path,
        "bytes": one.bytes,
        "complete": one.sealed_at is not None,
        "verified_at": one.verified_at,
        "used_by": list(one.used_by),
        "busy": list(one.busy),
    }


def _table(holdings: Sequence[Holding]) -> None:
    rows = [
        (one.host, one.repo, one.commit[:12], size(one.bytes), _verified(one), ", ".join(one.used_by) or "nobody")
        for one in holdings
    ]
    print_table(("host", "model", "commit", "size", "verified", "needed by"), rows)


def _verified(one: Holding) -> str:
    if one.verified_at is None:
        return "; ".join(one.busy) or "not complete"
    hours = max(0, one.now - one.verified_at) / 3600
    when = f"{hours:.0f} h ago" if hours < 72 else f"{hours / 24:.0f} days ago"
    return f"{when}, all bytes" if one.digests_at == one.verified_at else when


def weights_verify(*, hosts: str, inventory: str, model: str, digests: bool, json: bool) -> ExitCode:
    """Compare what lies there with its manifests: sizes, or every byte."""
    report = Report()
    with Fleet(arguments.chosen_hosts(hosts, inventory)) as fleet:
        found, errors = _held(fleet)
        chosen = {host: _sealed(held, model, report) for host, held in found.items()}
        chosen = {host: paths for host, paths in chosen.items() if paths}
        run = this_run("weights.verify").run
        outcomes = compared(fleet, chosen, digests=digests, run=run, says=report.say)
    errors += [one for one in outcomes.values() if isinstance(one, BringupError)]
    told = [one for outcome in outcomes.values() if not isinstance(outcome, BringupError) for one in outcome]
    if json:
        print_json(KIND, told)
    else:
        _say_compared(told, report, digests=digests)
    raise_all(errors)
    if model and not any(one for one in found.values() if _named(one, model)):
        there = ", ".join(sorted({one.repo for held in found.values() for one in held.holdings}))
        raise request.refused("model", model, f"a part of the name of weights that are there: {there or 'none are'}")
    _refuse_wrong(told)
    return ExitCode.DONE


def _sealed(held: Held, model: str, report: Report) -> list[str]:
    """Folders with a manifest, of `model` where one is named."""
    ours = _named(held, model)
    for one in ours:
        if one.sealed_at is None:
            report.say(
                f"{one.host}: {one.repo} {one.commit[:12]} is not complete: {'; '.join(one.busy) or 'no manifest'}"
            )
    return [one.path for one in ours if one.sealed_at is not None]


def _named(held: Held, model: str) -> list[Holding]:
    return [one for one in held.holdings if model.lower() in one.repo.lower()]


def _say_compared(told: Sequence[Compared], report: Report, *, digests: bool) -> None:
    what = "every byte is right" if digests else "sizes are right; bytes are read with --digests"
    for one in told:
        if not one.wrong:
            said = "sizes are right; SIMULATED, there is nothing to read" if one.simulated else what
            report.say(f"{one.host}: {one.folder}: {one.files} files, {size(one.bytes)}: {said}", style="green")
            continue
        lines = [f"  {path}: {why}" for path, why in one.wrong]
        lines += [f"  and {one.more} more"] if one.more else []
        report.say("\n".join([f"{one.host}: {one.folder}: {len(one.wrong) + one.more} wrong:", *lines]), style="red")
    if not told:
        report.say("nothing to compare: no folder of these hosts has a manifest")


def _refuse_wrong(told: Sequence[Compared]) -> None:
    bad = [one for one in told if one.wrong]
    if bad:
        path, what = bad[0].wrong[0]
        raise CheckFailed(
            f"weights are not what their manifests say, in {len(bad)} folder(s)",
            id="weights-wrong",
            observed=f"{bad[0].folder}/{path}: {what}",
            required="every file as it was listed when it was verified",
            next_command=f"invoke prefetch --model MODEL --hosts {bad[0].host}: what is wrong is fetched again",
            host=bad[0].host,
        )


def weights_gc(*, hosts: str, inventory: str, yes: bool, dry_run: bool, json: bool) -> ExitCode:
    """Show what nothing needs, weights and caches; with --yes remove it."""
    report = Report()
    chosen = arguments.chosen_hosts(hosts, inventory)
    with Fleet(chosen) as fleet:
        found, errors = _held(fleet)
        caches, more = _caches(fleet)
        verdicts = {host: judged(held) for host, held in found.items()}
        if json:
            print_json(KIND, [*_verdict_rows(verdicts), *_cache_rows(caches)])
        else:
            _say_verdicts(verdicts, report)
            _say_caches(caches, report)
        raise_all(errors + more)
        going = _going(verdicts)
        going_caches = {host: _going_caches(told) for host, told in caches.items() if _going_caches(told)}
        if not (going or going_caches) or dry_run or not yes:
            return _pending(_bytes(going, going_caches), chosen, report)
        with locked(fleet, tuple({**going, **going_caches}), this_run("weights.gc"), fleet.state_dirs):
            gone = removed(fleet, going)
            shown = {host: {one.stamp for one in folders} for host, folders in going_caches.items()}
            gone_caches = caches_removed(fleet, tuple(shown), spare=0, shown=shown)
    for host, paths in gone.items():
        for path in paths:
            report.say(f"{host}: removed {path}", style="green")
    for host, outcome in gone_caches.items():
        for one in () if isinstance(outcome, BringupError) else outcome:
            report.say(f"{host}: removed caches {one.stamp}", style="green")
    raise_all([one for one in gone_caches.values() if isinstance(one, BringupError)])
    return ExitCode.DONE


def _caches(fleet: Fleet) -> tuple[dict[str, tuple[CacheVerdict, ...]], list[BringupError]]:
    outcomes = caches_held_by(fleet, tuple(fleet.hosts))
    told = {host: judged_caches(one) for host, one in outcomes.items() if not isinstance(one, BringupError)}
    return told, [one for one in outcomes.values() if isinstance(one, BringupError)]


def _going(verdicts: Mapping[str, Sequence[Verdict]]) -> dict[str, list[Holding]]:
    going = {host: [one.holding for one in told if one.may_go] for host, told in verdicts.items()}
    return {host: holdings for host, holdings in going.items() if holdings}


def _going_caches(told: Sequence[CacheVerdict]) -> list[CacheFolder]:
    return [one.folder for one in told if one.may_go]


def _verdict_rows(verdicts: Mapping[str, Sequence[Verdict]]) -> list[dict[str, object]]:
    return [_row(one.holding) | {"kept_because": one.reasons} for told in verdicts.values() for one in told]


def _cache_rows(caches: Mapping[str, Sequence[CacheVerdict]]) -> list[dict[str, object]]:
    """`caches`: the stamp, where a row of weights has `model` and `commit`."""
    return [
        {
            "host": one.folder.host,
            "caches": one.folder.stamp,
            "bytes": one.folder.bytes,
            "used_by": list(one.folder.used_by),
            "kept_because": one.reasons,
        }
        for told in caches.values()
        for one in told
    ]


def _say_verdicts(verdicts: Mapping[str, Sequence[Verdict]], report: Report) -> None:
    for host, told in verdicts.items():
        for one in told:
            holding = one.holding
            _say(report, f"{host}: {holding.repo} {holding.commit[:12]}, {size(holding.bytes)}", one.reasons)


def _say_caches(caches: Mapping[str, Sequence[CacheVerdict]], report: Report) -> None:
    for host, told in caches.items():
        for one in told:
            _say(report, f"{host}: caches {one.folder.stamp}, {size(one.folder.bytes)}", one.reasons)


def _say(report: Report, named: str, reasons: Sequence[str]) -> None:
    report.say(f"{named}: stays: {'; '.join(reasons[:3])}" if reasons else f"{named}: nothing needs it")


def _bytes(going: Mapping[str, Sequence[Holding]], caches: Mapping[str, Sequence[CacheFolder]]) -> int | None:
    """Of all that may go; None: nothing may."""
    sizes = [one.bytes for holdings in going.values() for one in holdings]
    sizes += [one.bytes for folders in caches.values() for one in folders]
    return sum(sizes) if sizes else None


def _pending(total: int | None, hosts: Sequence[Host], report: Report) -> ExitCode:
    if total is None:
        report.say("nothing to remove", style="green")
        return ExitCode.DONE
    named = ",".join(one.name for one in hosts)
    report.say(f"{size(total)} would be removed; nothing was. next: invoke weights.gc --hosts {named} --yes")
    return ExitCode.CHANGES_PENDING
