"""``devsan profiles``."""

from __future__ import annotations

from collections.abc import Sequence

from devsan.cli.command import Action, Parser
from devsan.profiles import DEFAULT_PROFILE, Profile, all_profiles, find_profile


class ProfilesCommand:
    """List the GPU models that can be emulated.

    With PROFILE, show all data of this profile and their sources.
    """

    name = "profiles"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the optional name of a profile."""
        parser = Parser(self, usage="devsan profiles [PROFILE]")
        parser.add_argument("profile", metavar="PROFILE", nargs="?", help="show all data of this profile")
        key = parser.read(words).profile
        if key is None:
            return _list_all
        profile = find_profile(key)
        return lambda: _show(profile)


def _list_all() -> int:
    rows = [("PROFILE", "MEMORY", "CAPABILITY", "SMs", "GPU")]
    for profile in all_profiles().values():
        mark = " (default)" if profile.key == DEFAULT_PROFILE else ""
        rows.append(
            (
                profile.key,
                f"{profile.total_memory / 2**30:.2f} GiB",
                f"{profile.major}.{profile.minor}",
                str(profile.multi_processor_count),
                profile.name + mark,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        f"{key:<{widths[0]}}  {memory:>{widths[1]}}  {capability:>{widths[2]}}  {processors:>{widths[3]}}  {name}"
        for key, memory, capability, processors, name in rows
    ]
    print("\n".join(lines))  # in one piece: a reader such as head may leave early
    return 0


def _show(profile: Profile) -> int:
    lines = {
        "GPU": profile.name,
        "memory": f"{profile.total_memory} bytes ({profile.total_memory / 2**30:.2f} GiB)",
        "compute capability": f"{profile.major}.{profile.minor}",
        "multiprocessors": f"{profile.multi_processor_count} of {profile.max_threads_per_multi_processor} threads",
        "L2 cache": f"{profile.l2_cache_size} bytes",
        "shared memory": f"{profile.shared_memory_per_multiprocessor} bytes per multiprocessor, "
        f"{profile.shared_memory_per_block_optin} per block",
        "clock": f"{profile.clock_rate_mhz} MHz",
        "memory clock": f"{profile.memory_clock_rate_mhz} MHz, {profile.memory_bus_width} bits",
        "capacity from": profile.capacity_source,
        "figures from": profile.figures_source,
    }
    width = max(map(len, lines))
    print(profile.key)
    for label, text in lines.items():
        print(f"  {label:<{width}}  {text}")
    return 0
