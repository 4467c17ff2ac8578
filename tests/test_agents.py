"""AGENTS.md is the protocol section of ch-parse's page, and copying it runs nothing."""

from __future__ import annotations

import regen_docs
from ch_parse import parse


def page():
    return regen_docs.PROTOCOL.read_text(encoding="utf-8")


def test_agents_is_derived_from_the_page():
    expected = regen_docs.agents(page())
    assert regen_docs.AGENTS.read_text(encoding="utf-8") == expected, (
        "run: python tests/support/regen_docs.py"
    )


def test_agents_fits_the_instruction_field_of_a_chat():
    assert len(regen_docs.agents(page())) < regen_docs.MOST_CHARACTERS


def test_copying_agents_runs_nothing():
    text = regen_docs.AGENTS.read_text(encoding="utf-8")
    assert text.startswith(regen_docs.MARKER)
    assert parse(text)["kind"] == "ignored"
    without_marker = text.removeprefix(regen_docs.MARKER)
    assert parse(without_marker)["kind"] == "ignored"


def test_headings_move_up_and_examples_stay():
    made = regen_docs.agents(
        f"# tool\n{regen_docs.BEGIN}## A\n\n````\n```shell\n## kept\n```\n````\n\n### B\n"
        f"{regen_docs.END}"
    )
    assert made == "clip-harness: ignore\n\n# A\n\n````\n```shell\n## kept\n```\n````\n\n## B\n"


def test_usage_blocks_are_filled_and_examples_are_not(monkeypatch):
    monkeypatch.setattr(regen_docs, "usage", lambda command: f"usage: {' '.join(command)}\n")
    page = (
        "# tool\n\n```text\n```\n\n## tool run\n\n```text\nusage: old\n  more\n```\n\n"
        "## Other\n\n```text\nkept\n```\n"
    )
    assert regen_docs.with_usage(page, "tool") == (
        "# tool\n\n```text\nusage: tool\n```\n\n## tool run\n\n```text\nusage: tool run\n```\n\n"
        "## Other\n\n```text\nkept\n```\n"
    )
