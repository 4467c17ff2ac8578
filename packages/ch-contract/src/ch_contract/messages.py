"""The messages as types, for the type checker alone; `/schemas` is the authority.

A test compares the keys of every class with the schema.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class PayloadMetadata(TypedDict):
    """Metadata. The header's keys; null means the key was absent."""

    session: str | None
    action: str
    label: str | None
    cwd: str | None
    timeout: int | None
    attend: bool
    writes: list[str] | None
    goal: str | None
    expect_revision: int | None
    action_id: str | None


class PayloadChangeFile(TypedDict):
    """file change. One file change as the text proposes it."""

    path: str
    kind: str
    op: str
    content: str | None


class PayloadChangePatch(TypedDict):
    """patch change. One patch change as the text proposes it."""

    path: str
    kind: str
    op: str
    diff: str


class PayloadChangeEdit(TypedDict):
    """edit change. One edit change as the text proposes it."""

    path: str
    kind: str
    op: str
    old_string: str
    new_string: str
    replace_all: bool


class PayloadControl(TypedDict):
    """Control. A control trigger; null when the text is none."""

    action: str
    session: str | None


class Payload(TypedDict):
    """Payload. What a copied text asks for."""

    kind: str
    form: str | None
    metadata: PayloadMetadata
    command: str | None
    body: str | None
    changes: list[PayloadChangeFile | PayloadChangePatch | PayloadChangeEdit]
    control: PayloadControl | None
    repairs: list[str]
    notes: list[str]


class VerdictSettingsLeftOutKey(TypedDict):
    """Key. A key without effect, and why."""

    key: str
    why: str


class VerdictSettingsLeftOut(TypedDict):
    """Settings file. One settings file."""

    path: str
    ignored: list[VerdictSettingsLeftOutKey]


class VerdictSettings(TypedDict):
    """Settings. Which settings the verdict rests on."""

    digest: str
    left_out: list[VerdictSettingsLeftOut]


class VerdictPartMatch(TypedDict):
    """Match. One rule and the text that met it."""

    rule: str
    text: str
    span: list[int]


class VerdictPart(TypedDict):
    """Part. The verdict of one command or change."""

    kind: str
    subject: str
    decision: str
    reviewable: bool
    rule: str | None
    reason: str | None
    note: str | None
    source: str
    matches: list[VerdictPartMatch]


class Verdict(TypedDict):
    """Verdict. Whether the payload may run."""

    decision: str
    dialect: str
    settings: VerdictSettings
    parts: list[VerdictPart]


class CandidateEntry(TypedDict):
    """Entry. One changed file."""

    path: str
    declared_op: str
    actual_op: str
    mismatch: bool
    base_sha256: str | None
    candidate_sha256: str | None
    lines_added: int
    lines_removed: int
    diff_path: str | None


class Candidate(TypedDict):
    """Candidate. A change or a command that waits for, or had, a decision."""

    candidate_id: str
    kind: str
    status: str
    dir: str
    entries: list[CandidateEntry]
    command: str | None
    reason: str | None
    writes: list[str] | None
    protected: list[str]
    settings_digest: str


class Decision(TypedDict):
    """Decision. One recorded decision of a person."""

    candidate_id: str
    decision: str
    reason: str | None
    accepted_files: list[str] | None
    subject_sha256: str
    by: str
    at: str


class AppliedEntry(TypedDict):
    """Entry. One file."""

    path: str
    outcome: str
    sha256: str | None


class Applied(TypedDict):
    """Applied. What became of the accepted changes."""

    entries: list[AppliedEntry]
    rolled_back: bool


class Result(TypedDict):
    """Result. What happened when the command ran."""

    exit_code: int | None
    exit_desc: str
    signal: str | None
    duration_ms: int
    timed_out: bool
    cancelled: bool
    output_path: str | None
    output_bytes: int
    output_chars: int
    output_sha256: str | None
    shell: str | None
    backend: str
    sandbox: str
    approval: str | None
    restored: list[str]
    unenforced: list[list[str]]
    processes_ended: int
    processes_left: int
    output_reopened: bool


class StandingGoal(TypedDict):
    """Goal. The bound goal; null when none is set."""

    goal_uid: str
    text: str
    status: str
    revision: int


class StandingTask(TypedDict):
    """Task. One task."""

    title: str
    status: str


class Standing(TypedDict):
    """Standing. Where the goal stands; the footer is made of it."""

    goal: StandingGoal | None
    tasks: list[StandingTask]


class Notices(TypedDict):
    """Notices. Lines the result carries above its footer; null means none."""

    manifest: str | None
    context: str | None
    pending: str | None
    update: str | None
    host: str | None


class ProblemSection(TypedDict):
    """Problem. Why a tool could not do its job."""

    tool: str
    kind: str
    message: str
    hint: str | None
    line: int | None


class Receipt(TypedDict):
    """Receipt. Where the run stands in the ledger."""

    seq: int
    prev: str
    sha256: str


class RunCaptured(TypedDict):
    """Captured. The text as it was captured."""

    at: str
    sha256: str
    bytes: int


class RunRewrite(TypedDict):
    """Rewrite. One rewrite by a hook."""

    hook: str
    of: str
    before_sha256: str
    after: str


class Run(TypedDict):
    """Run document. The one document that travels through the pipe and grows."""

    format: str
    run_id: str
    cwd: str
    project: str | None
    trigger: str
    captured: RunCaptured
    payload: Payload
    verdict: NotRequired[Verdict]
    candidates: NotRequired[list[Candidate]]
    decisions: NotRequired[list[Decision]]
    applied: NotRequired[Applied]
    result: NotRequired[Result]
    standing: NotRequired[Standing]
    notices: NotRequired[Notices]
    rewrites: NotRequired[list[RunRewrite]]
    problem: NotRequired[ProblemSection]
    receipt: NotRequired[Receipt]


class RunRecord(TypedDict):
    """Run record. `runs/<id>/run.json`: how a command was started, written before it starts."""

    format: str
    run_id: str
    session: str | None
    cwd: str
    command_sha256: str
    shell: str
    dialect: str
    backend: str
    mode: str
    sandbox: str
    sandbox_digest: str | None
    approval: str | None
    approval_id: str | None
    writes: list[str] | None
    timeout: int
    pid: int
    started: str
    at: str


class OpenRun(TypedDict):
    """Open run. `open/<id>.json`: a run without an end yet."""

    format: str
    run_id: str
    session: str | None
    state: str
    pid: int
    started: str
    ledger_size: int
    at: str


class Session(TypedDict):
    """Session. `sessions/<id>.json`: the last run of a session; 0.3.0 wrote the same."""

    run_id: str
    binding_id: str
    command: str
    cwd: str
    state: str
    output_file: str | None
    started_at: float


class LedgerPayload(TypedDict):
    """Payload. The captured text; null when the line tells nothing about it."""

    sha256: str
    bytes: int
    kind: str | None
    form: str | None
    repairs: list[str]


class LedgerVerdict(TypedDict):
    """Verdict. What the gate decided; null when it was not asked."""

    decision: str
    rule: str | None
    source: str | None
    settings_digest: str


class LedgerReviewCandidateFiles(TypedDict):
    """Files. How many files had which outcome; null when none was applied."""

    new: int
    updated: int
    deleted: int
    unchanged: int
    rejected: int
    failed: int


class LedgerReviewCandidate(TypedDict):
    """Candidate. One candidate of the run and what was decided on it."""

    candidate_id: str
    kind: str
    decision: str | None
    by: str | None
    subject_sha256: str | None
    files: LedgerReviewCandidateFiles | None


class LedgerResult(TypedDict):
    """Result. What happened when the command ran; null when none did."""

    exit_code: int | None
    signal: str | None
    duration_ms: int
    timed_out: bool
    cancelled: bool
    output_sha256: str | None
    output_bytes: int
    output_chars: int
    shell: str | None
    backend: str
    sandbox: str
    approval: str | None
    processes_ended: int


class LedgerProblem(TypedDict):
    """Problem. Why a tool could not do its job; null when none failed."""

    tool: str
    kind: str
    message: str


class LedgerPinned(TypedDict):
    """Pinned. The earlier ledger that stood beside this one when it began."""

    path: str
    sha256: str
    bytes: int


class LedgerDamage(TypedDict):
    """Damage. What an append found wrong with the end of the ledger."""

    kind: str
    head_seq: int | None
    head_sha256: str | None
    head_size: int | None
    size: int
    removed_bytes: int
    removed_sha256: str | None


class LedgerLine(TypedDict):
    """Ledger line. A line of `ledger.jsonl`, chained to the line before."""

    format: str
    seq: int
    prev: str
    at: str
    event: str
    run_id: str | None
    session: str | None
    trigger: str | None
    cwd: str | None
    project: str | None
    payload: LedgerPayload | None
    command_sha256: str | None
    verdict: LedgerVerdict | None
    review: list[LedgerReviewCandidate] | None
    result: LedgerResult | None
    problem: LedgerProblem | None
    pinned: LedgerPinned | None
    damage: LedgerDamage | None
    note: str | None


class LedgerHead(TypedDict):
    """Ledger head. `ledger.head`: the last line of the ledger, replaced after each append."""

    format: str
    seq: int
    sha256: str
    size: int


class TrustFolder(TypedDict):
    """Folder. A folder and the settings files of it that are trusted."""

    folder: str
    sha256: list[str]


class Trust(TypedDict):
    """Trust. `trust.json`: which settings files of projects the user trusts."""

    format: str
    folders: list[TrustFolder]


class CandidateManifestHost(TypedDict):
    """Host. The process of the agent host that asks; null for the clipboard."""

    pid: int
    started: str


class CandidateManifestEntry(TypedDict):
    """Entry. One changed file."""

    path: str
    abs_path: str
    declared_op: str
    actual_op: str
    mismatch: bool
    base_sha256: str | None
    base_mode: int | None
    candidate_sha256: str | None
    lines_added: int
    lines_removed: int
    candidate_file: str | None
    snapshot_file: str | None
    diff_file: str | None


class CandidateManifest(TypedDict):
    """Candidate manifest. `candidates/<id>/manifest.json`: what is proposed."""

    format: str
    candidate_id: str
    kind: str
    run_id: str
    session: str | None
    trigger: str
    host: CandidateManifestHost | None
    cwd: str
    project: str | None
    timeout: int | None
    captured_sha256: str
    command: str | None
    reason: str | None
    writes: list[str] | None
    protected: list[str]
    settings_digest: str
    shell_sandbox: str
    subject_sha256: str
    entries: list[CandidateManifestEntry]
    at: str


class DecisionRecordEdited(TypedDict):
    """Edited file. One file whose bytes the decider changed."""

    path: str
    actual_op: str
    candidate_sha256: str
    lines_added: int
    lines_removed: int
    candidate_file: str
    diff_file: str


class DecisionRecord(TypedDict):
    """Decision record. `candidates/<id>/decision.json`: the one resolution of a candidate."""

    format: str
    candidate_id: str
    run_id: str
    session: str | None
    decision: str
    reason: str | None
    accepted_files: list[str] | None
    subject_sha256: str
    by: str
    at: str
    pid: int
    edited: list[DecisionRecordEdited]


class ApplyRecordEntry(TypedDict):
    """Entry. One file and what becomes of it."""

    path: str
    abs_path: str
    outcome: str
    before_sha256: str | None
    before_mode: int | None
    before_file: str | None
    after_sha256: str | None
    after_mode: int | None
    after_file: str | None
    temporary: str | None
    backup: str | None


class ApplyRecord(TypedDict):
    """Apply record. The intent while files change; the outcome afterwards."""

    format: str
    candidate_id: str
    run_id: str
    act: str
    state: str
    at: str
    pid: int
    entries: list[ApplyRecordEntry]
    made: list[str]
    emptied: list[str]
    note: str | None


class Grants(TypedDict):
    """Grants. `grants/<session>.json`: commands a person allowed for one session."""

    format: str
    session: str
    commands: list[str]


class AllowedFolder(TypedDict):
    """Folder. A folder and its entries."""

    folder: str
    allowlist: list[str]


class Allowed(TypedDict):
    """Allowed. `allowed.json`: allow-list entries a person gave in a review, by folder."""

    format: str
    folders: list[AllowedFolder]
