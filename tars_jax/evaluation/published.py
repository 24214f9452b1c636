"""Scores that others report, to stand beside ours: carried over, never measured here.

Source: the UI-TARS-2 report, tables 1 to 3. Its games are other implementations than ours, and its normalized scores
refer to a human player, ours to the reference player of each game: rows are to be read, not subtracted.
"""

from __future__ import annotations

# Table 1, in percent: a suite, the benchmark that the figures are of, and what each agent reached by the screen alone
# or, where the report says so, with functions of the SDK. Newer versions of a benchmark have other tasks and scorers.
BENCHMARK_AGENTS = (
    "Claude-4-Sonnet", "Claude-4-Opus", "OpenAI o3", "OpenAI CUA-o3", "UI-TARS", "UI-TARS-1.5", "UI-TARS-2",
)  # fmt: skip
BENCHMARKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "osworld": ("OSWorld, 369 tasks", ("43.9", "-", "-", "42.9", "24.6", "42.5", "47.5")),
    "windows_agent_arena": ("WindowsAgentArena, over 150 tasks", ("-", "-", "-", "-", "-", "42.1", "50.6")),
    "terminal_bench": ("Terminal-Bench, not 2", ("39.2", "43.2", "30.2", "-", "-", "-", "45.3 with SDK")),
    "swe_bench": ("SWE-bench", ("72.7", "72.5", "69.1", "-", "-", "-", "68.7 with SDK")),
    "android_world": ("AndroidWorld, 116 tasks", ("-", "-", "-", "52.5", "44.6", "64.2", "73.3")),
    "online_mind2web": ("Online-Mind2Web, 300 tasks", ("-", "-", "-", "71.0", "-", "75.8", "88.2")),
    "browsecomp_zh": ("BrowseComp-zh", ("22.5", "37.4", "-", "-", "-", "-", "32.1; 50.5 with SDK")),
    "browsecomp": ("BrowseComp-en", ("14.7", "18.8", "49.7", "-", "-", "-", "7.0; 29.6 with SDK")),
}

GAMES15_AGENTS = ("Human", "UI-TARS-2-SFT", "UI-TARS-2-RL", "OpenAI CUA", "Claude Computer Use")

# Raw scores by game, one for each of GAMES15_AGENTS (table 2).
GAMES15 = {
    "game_2048": (1024.31, 968.00, 932.40, 911.21, 800.00),
    "emoji_sort_master": (5.15, 2.90, 4.50, 1.80, 1.40),
    "energy": (10.08, 2.40, 3.30, 0.82, 1.04),
    "free_the_key": (5.54, 0.00, 0.70, 0.00, 0.00),
    "gem_11": (186.85, 84.90, 63.90, 47.00, 55.00),
    "hex_frvr": (5276.85, 1952.00, 2389.00, 615.59, 523.07),
    "infinity_loop": (6.58, 1.60, 6.10, 3.30, 1.90),
    "laser_maze_puzzle": (17.83, 2.70, 5.60, 1.40, 1.40),
    "maze_path_of_light": (7.17, 1.10, 2.00, 0.35, 0.82),
    "merge_and_double": (790.31, 519.00, 594.40, 102.33, 212.70),
    "shapes": (5.42, 4.60, 5.90, 0.90, 0.24),
    "snake_solver": (3.92, 2.10, 3.00, 0.23, 0.20),
    "tiles_master": (3.75, 3.20, 3.10, 1.47, 1.56),
    "wood_blocks_3d": (4646.00, 1900.00, 2908.00, 1814.00, 1632.00),
    "yarn_untangle": (19.75, 4.30, 7.00, 5.05, 1.56),
}
GAMES15_MEAN = (100.00, 44.27, 59.77, 24.73, 21.61)  # normalized to the human player as 100

# Of LMGame-Bench (table 3): score and its deviation for UI-TARS-2. 2048 is 10 log2 of the merged tiles, run by run, as
# eval/configs/game_eval_config.yaml of lmgame-org/GamingAgent has it (`log2_times_10`): 117.1 is about 3,350 of them.
LMGAME_AGENT = "UI-TARS-2"
LMGAME = {
    "lmgame/sokoban": (0.3, 0.0),
    "lmgame/super_mario_bros": (1783.2, 63.7),
    "lmgame/tetris": (16.0, 1.3),
    "lmgame/2048": (117.1, 1.9),
    "lmgame/candy_crush": (163.2, 31.3),
    "lmgame/ace_attorney": (7.0, 0.0),
}


# Of UI-TARS-2 in floating point and in W4A8, in the report's words on quantization; its score is of OSWorld.
W4A8 = {"score": (47.5, 44.4), "tokens_per_second": (29.6, 47.0), "seconds_per_round": (4.0, 2.5)}


def normalized_to_human(game: str) -> tuple[float, ...]:
    """A game's published scores as percentages of the human player's, one for each of GAMES15_AGENTS."""
    human = GAMES15[game][0]
    return tuple(100 * score / human for score in GAMES15[game])


def benchmark_rows(suite: str) -> list[tuple[str, str, str]]:
    """Agent, percent and benchmark of all that table 1 reports of a suite; none of one that it has not."""
    of, scores = BENCHMARKS.get(suite, ("", ()))
    return [(agent, score, of) for agent, score in zip(BENCHMARK_AGENTS, scores, strict=False) if score != "-"]
