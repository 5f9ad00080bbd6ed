// Generated from openapi.yaml by `node tests/web/types.js`; do not edit.

export interface Schemas {
    McpMessage: {
        jsonrpc: "2.0";
        id?: string | number | null;
        method?: string;
        params?: Record<string, never>;
        result?: Record<string, never>;
        error?: Record<string, never>;
    };
    Seq: number;
    Place: number;
    Seqs: Schemas["Seq"][];
    Cursor: string;
    Timestamp: string;
    Name: string;
    Project: string;
    Kind: "complete" | "waiting" | "question" | "approval" | "testing" | "error" | "progress" | "message" | "answer" | "ended";
    AnyKind: "complete" | "waiting" | "question" | "approval" | "testing" | "error" | "progress" | "message" | "answer" | "ended" | "completed" | "stop" | "done" | "idle" | "idle_prompt" | "needs_input" | "input_request" | "permission" | "permission_prompt" | "approval_request" | "needs_testing" | "failed" | "working" | "progress_update" | "info" | "note" | "feedback" | "session_end";
    Priority: "urgent" | "high" | "normal" | "low";
    Status: "recorded" | "pending" | "acked" | "expired" | "evicted" | "superseded" | "withdrawn" | "dropped" | "answered";
    NotificationFields: {
        id: Schemas["Seq"];
        ts: Schemas["Timestamp"];
        from: Schemas["Name"];
        from_name?: string;
        type: Schemas["Kind"];
        msg: string;
        to?: Schemas["Name"];
        project: Schemas["Project"];
        priority: Schemas["Priority"];
        title?: string;
        data?: unknown;
        session?: Schemas["Name"];
        parent?: Schemas["Name"];
        key?: string;
        reply_to?: Schemas["Seq"];
        expires_at: Schemas["Timestamp"];
        options?: string[];
        answers?: string[];
        hops?: number;
        received?: Schemas["Timestamp"];
        muted_by?: string;
        rides_along?: string;
        evidence?: Schemas["Evidence"];
        turn?: Schemas["Seq"];
        repeats?: Schemas["Seq"];
    };
    Evidence: {
        device?: string;
        device_name?: string;
        forward?: string;
        pid?: number;
        programs?: string[];
        terminal?: string;
        session?: string;
    };
    Notification: Schemas["NotificationFields"];
    DeliveredNotification: Schemas["NotificationFields"] & {
        redelivered?: boolean;
    };
    HistoryEntry: Schemas["NotificationFields"] & {
        status: Schemas["Status"];
        seen: boolean;
        delivery?: Schemas["AnswerDelivery"];
        answer?: Schemas["Seq"];
        ended?: string;
    };
    Conversation: {
        entries: Schemas["ConversationEntry"][];
        keeps_words: boolean;
        next?: Schemas["Place"];
        partial?: boolean;
    };
    ConversationEntry: {
        seq: Schemas["Seq"];
        ts: Schemas["Timestamp"];
        kind: "prompt" | "wake" | "stop" | "question" | "permission" | "plan" | "form" | "error" | "limit" | "message" | "note";
        by: string;
        title: string;
        text?: string;
        answer?: Schemas["GivenAnswer"];
    };
    GivenAnswer: {
        state: Schemas["QuestionState"];
        title: string;
        by?: string;
        decision?: "allow" | "allow_always" | "accept_edits" | "deny";
        text?: string;
    };
    HistoryPage: {
        notifications: Schemas["HistoryEntry"][];
        next?: Schemas["Place"];
        partial?: boolean;
    };
    Post: {
        msg: string;
        from?: Schemas["Name"];
        to?: Schemas["Name"];
        type?: Schemas["AnyKind"];
        priority?: Schemas["Priority"];
        project?: Schemas["Project"];
        title?: string;
        data?: unknown;
        session?: Schemas["Name"];
        parent?: Schemas["Name"];
        key?: string;
        reply_to?: Schemas["Seq"];
        expires_at?: string;
        ttl?: number;
        options?: string[];
        ts?: string;
    };
    InboxTouched: {
        name: Schemas["Name"];
        created: boolean;
        waiter: boolean;
        nearest?: Schemas["Name"];
        session?: string;
        over?: boolean;
    };
    Published: {
        id: Schemas["Seq"];
        project: Schemas["Project"];
        inboxes: Schemas["InboxTouched"][];
        woken: number;
        hint?: string;
    };
    PublishedBatch: {
        ids: Schemas["Seqs"];
        inboxes: Schemas["InboxTouched"][];
        woken: number;
        hint?: string;
    };
    PublishedAny: Schemas["Published"] | Schemas["PublishedBatch"];
    WaitReply: {
        notifications: Schemas["DeliveredNotification"][];
        lease: string;
        remaining: number;
        why_woken: Schemas["WhyWoken"];
        barrier?: {
            met: boolean;
            missing?: Schemas["Name"][];
        };
        prompt?: string;
    };
    WhyWoken: {
        reason: "pending" | "returned" | "barrier" | "timeout";
    } | {
        reason: "arrived";
        id: Schemas["Seq"];
        from: Schemas["Name"];
        type: Schemas["Kind"];
    };
    AckRequest: {
        lease?: string;
        ids?: Schemas["Seq"][];
        by?: string;
    };
    Holder: {
        as?: string;
        session?: Schemas["Name"];
        session_name?: string;
        way?: Schemas["Way"];
        since: Schemas["Timestamp"];
    };
    Way: "module" | "rewake" | "file_changed" | "socket" | "app_server" | "wait" | "pane" | "hook";
    InboxInfo: {
        project: Schemas["Project"];
        name: Schemas["Name"];
        pending: number;
        leased: number;
        oldest?: Schemas["Seq"];
        oldest_ts?: Schemas["Timestamp"];
        held?: number;
        held_until?: Schemas["Timestamp"];
        session?: string;
        waiter?: Schemas["Holder"];
    };
    SessionState: "working" | "waiting" | "blocked" | "complete" | "error" | "ended";
    QuestionState: "open" | "claimed" | "answered" | "withdrawn" | "superseded" | "expired";
    Process: {
        pid: number;
        started?: number;
        boot_id?: string;
    };
    SessionInfo: {
        name?: string;
        agent?: string;
        host?: string;
        cwd?: string;
        parent?: Schemas["Name"];
        role?: string;
        main_worktree?: boolean;
        headless?: boolean;
        process?: Schemas["Process"];
        branch?: string;
        repository?: string;
        pane?: string;
        pane_delivery?: boolean;
        title?: string;
        metadata?: unknown;
    };
    Session: {
        id: Schemas["Name"];
        aliases?: Schemas["Name"][];
        name: string;
        project: Schemas["Project"];
        agent?: string;
        host?: string;
        cwd?: string;
        parent?: Schemas["Name"];
        role?: string;
        main_worktree?: boolean;
        headless?: boolean;
        process?: Schemas["Process"];
        branch?: string;
        repository?: string;
        pane?: string;
        pane_delivery?: boolean;
        title?: string;
        metadata?: unknown;
        primary: boolean;
        phase: Schemas["Phase"];
        state?: Schemas["SessionState"];
        evidence?: string;
        since?: Schemas["Timestamp"];
        gone: boolean;
        silent: boolean;
        last_seen?: Schemas["Timestamp"];
        last?: Schemas["Seq"];
        pending: number;
        waiter?: Schemas["Holder"];
        unreachable?: string;
        wake: "live" | "stale" | "none";
        listeners?: Schemas["Listener"][];
    };
    PhaseName: "needs_you" | "blocked" | "your_turn" | "working" | "done" | "gone";
    Phase: {
        name: Schemas["PhaseName"];
        since: Schemas["Timestamp"];
        text?: string;
        question?: Schemas["Seq"];
        need?: string;
        until?: Schemas["Timestamp"];
        tool?: Schemas["ToolCall"];
    };
    ToolCall: {
        name: string;
        on?: string;
        since: Schemas["Timestamp"];
    };
    Listener: {
        caller: Schemas["Name"];
        since: Schemas["Timestamp"];
        until?: Schemas["Timestamp"];
    };
    Question: {
        id: Schemas["Seq"];
        project: Schemas["Project"];
        from: Schemas["Name"];
        from_name?: string;
        type: "question" | "approval";
        to?: Schemas["Name"];
        ts: Schemas["Timestamp"];
        expires_at: Schemas["Timestamp"];
        state: Schemas["QuestionState"];
        by?: string;
        answer_id?: Schemas["Seq"];
        answer?: string;
        answers?: string[];
        msg: string;
        text: string;
        complete: boolean;
        options?: string[];
        controls: Schemas["Control"][];
        request?: Schemas["ToolRequest"];
        data?: unknown;
        delivery?: Schemas["AnswerDelivery"];
        held_until?: Schemas["Timestamp"];
        delays?: boolean;
        deliverable: boolean;
        where?: Schemas["AskersPlace"];
    };
    AnswerDelivery: "waiting" | "reconnecting" | "stored" | "delivered" | "taken" | "terminal";
    SessionsEvent: {
        whole: boolean;
        sessions: Schemas["Session"][];
        gone: {
            project: Schemas["Project"];
            id: Schemas["Name"];
        }[];
        ended: number;
        reporting: Schemas["Reporting"];
    };
    NeedList: {
        needs: Schemas["Need"][];
    };
    Need: {
        id: string;
        kind: "urgent" | "permission" | "question" | "plan" | "form" | "died" | "error" | "turn" | "limit" | "silent";
        since: Schemas["Timestamp"];
        until?: Schemas["Timestamp"];
        resume?: {
            at: Schemas["Timestamp"];
            chosen: boolean;
        };
        settled?: {
            state: Schemas["QuestionState"];
            by?: string;
            answer?: string;
            delivery?: Schemas["AnswerDelivery"];
        };
        claimed?: string;
        answerable: boolean;
        delays?: boolean;
        reconnecting?: boolean;
        where?: Schemas["AskersPlace"];
        project: Schemas["Project"];
        name: string;
        session?: Schemas["Name"];
        to?: Schemas["Name"];
        notification?: Schemas["Seq"];
        priority: Schemas["Priority"];
        alert?: Schemas["Alert"];
        silenced?: string;
        counts: boolean;
        closable: boolean;
        untaken?: boolean;
        title: string;
        line: string;
        brief: string;
        complete: boolean;
        revision: Schemas["Seq"];
        quick?: {
            label: string;
            answer: Schemas["Answer"];
        }[];
        text?: string;
        context?: string;
        request?: Schemas["ToolRequest"];
        controls?: Schemas["Control"][];
    };
    Answer: {
        choices?: {
            labels?: string[];
            text?: string;
        }[];
        verdict?: "allow" | "allow_always" | "accept_edits" | "deny" | "cancel";
        reason?: string;
        form?: {
            [key: string]: unknown;
        };
        reply?: string;
        revision?: Schemas["Seq"];
        session?: Schemas["Name"];
        by?: Schemas["Name"];
        dialog: boolean;
        data?: unknown;
    };
    Control: {
        type: "choice";
        question: string;
        header: string;
        many: boolean;
        options: {
            label: string;
            description: string;
        }[];
    } | {
        type: "verdict";
        allow: boolean;
        always?: string;
        edits: boolean;
    } | {
        type: "form";
        fields: {
            name: string;
            label: string;
            description: string;
            type: "text" | "number" | "integer" | "boolean" | "choice" | "choices";
            required: boolean;
            choices: {
                value: string;
                label: string;
            }[];
            initial?: unknown;
        }[];
    } | {
        type: "reply";
    };
    ToolRequest: {
        tool: string;
        parts: {
            name: string;
            text: string;
        }[];
        change?: {
            path: string;
            edits: {
                before: string;
                after: string;
                all: boolean;
            }[];
        };
        risks: string[];
    };
    MarkdownTree: {
        children: Schemas["MarkdownNode"][];
    };
    MarkdownNode: {
        type: "paragraph" | "heading" | "blockquote" | "code" | "list" | "listItem" | "table" | "tableRow" | "tableCell" | "thematicBreak" | "text" | "inlineCode" | "emphasis" | "strong" | "delete" | "link" | "break";
        value?: string;
        depth?: number;
        url?: string;
        lang?: string;
        start?: number;
        checked?: boolean;
        children?: Schemas["MarkdownNode"][];
    };
    TimeOfDay: string;
    Quiet: {
        from: Schemas["TimeOfDay"];
        to: Schemas["TimeOfDay"];
        zone: string;
    };
    Mute: {
        project: Schemas["Project"];
        session?: Schemas["Name"];
        until?: Schemas["Timestamp"];
    };
    Alert: "needs_you" | "blocked" | "your_turn";
    Directory: {
        project: Schemas["Project"];
        source: "configured" | "main_worktree" | "common_dir" | "session" | "default";
        main?: boolean;
        worktree?: string;
        branch?: string;
        repository?: string;
    };
    Preferences: {
        quiet: null | Schemas["Quiet"];
        mutes: Schemas["Mute"][];
        notify: Schemas["Alert"][];
        sound: Schemas["Alert"][];
        editor?: string;
    };
    PreferencesPut: {
        quiet?: null | Schemas["Quiet"];
        mutes?: {
            project: Schemas["Project"];
            session?: Schemas["Name"];
            until?: string;
        }[];
        notify?: Schemas["Alert"][];
        sound?: Schemas["Alert"][];
        editor?: string;
    };
    Timeline: {
        since: Schemas["Timestamp"];
        until: Schemas["Timestamp"];
        begins: null | Schemas["Timestamp"];
        waited_ms: number;
        lanes: Schemas["Lane"][];
        left_out?: number;
    };
    Lane: {
        project: Schemas["Project"];
        session: Schemas["Name"];
        name: string;
        waited_ms: number;
        segments: {
            at: Schemas["Timestamp"];
            phase: Schemas["PhaseName"];
        }[];
    };
    Moment: {
        at: Schemas["Timestamp"];
        sessions: Schemas["SessionMoment"][];
    };
    SessionMoment: {
        project: Schemas["Project"];
        session: Schemas["Name"];
        phase: Schemas["PhaseName"];
        since: Schemas["Timestamp"];
        report?: Schemas["Seq"];
        text?: string;
    };
    ShownPane: {
        pane: string;
        attached: boolean;
        attach: string;
    };
    RuleList: {
        rules: {
            name: string;
            when: string;
            then: string;
            fired: number;
            last: Schemas["Timestamp"] | null;
            fault?: string;
        }[];
        text: string;
    };
    RuleReport: {
        from: Schemas["Timestamp"];
        to: Schemas["Timestamp"];
        fired: {
            rule: string;
            at: Schemas["Timestamp"];
            project: Schemas["Project"];
            from: Schemas["Name"];
            notification: Schemas["Seq"] | null;
            text: string;
        }[];
        counts: {
            [key: string]: number;
        };
        partial: boolean;
        text: string;
    };
    Milliseconds: number | null;
    Stats: {
        from: Schemas["Timestamp"];
        to: Schemas["Timestamp"];
        minutes: {
            at: Schemas["Timestamp"];
            counts: {
                [key: string]: number;
            };
        }[];
        answers: {
            agent: string;
            count: number;
            median_ms: number;
            p90_ms: number;
        }[];
        oldest_open: null | {
            id: Schemas["Seq"];
            ts: Schemas["Timestamp"];
        };
        phases: {
            [key: string]: number;
        };
        wakes: {
            count: number;
            median_ms: Schemas["Milliseconds"];
            p90_ms: Schemas["Milliseconds"];
            recent: {
                at: Schemas["Timestamp"];
                ms: number;
            }[];
        };
        false_wakes: {
            wakes: number;
            idle: number;
            rate: number | null;
        };
        proofs: Schemas["Percentiles"];
        answers_by_session: {
            project: Schemas["Project"];
            session: Schemas["Name"];
            name: string;
            count: number;
            p50_ms: number;
            p95_ms: number;
        }[];
        tokens_by_sender: {
            project: Schemas["Project"];
            from: Schemas["Name"];
            name: string;
            notifications: number;
            tokens: number;
        }[];
        summary: string;
        details: Schemas["Detail"][];
        partial: boolean;
    };
    Percentiles: {
        count: number;
        p50_ms: Schemas["Milliseconds"];
        p95_ms: Schemas["Milliseconds"];
    };
    Detail: {
        at?: Schemas["Timestamp"];
        text: string;
    };
    Reason: "woken" | "delivered_by_hook" | "settled" | "recorded" | "nothing_pending" | "leased" | "rides_along" | "filtered" | "inbox_held" | "settling" | "limit" | "busy" | "asks" | "waking" | "no_transport" | "no_hooks" | "hook_untrusted" | "ended" | "no_reader" | "muted" | "snoozed" | "quiet_hours" | "no_alert" | "awaits_person" | "seen";
    Why: {
        summary: string;
        reason: Schemas["Reason"];
        items: {
            id: Schemas["Seq"];
            project: Schemas["Project"];
            inbox?: Schemas["Name"];
            reason: Schemas["Reason"];
            text: string;
            until?: Schemas["Timestamp"];
            by?: string;
            ways?: {
                way: Schemas["Way"];
                why: string;
            }[];
        }[];
        more?: number;
        details: Schemas["Detail"][];
    };
    Trace: {
        partial?: boolean;
        next?: Schemas["Place"];
        id: Schemas["Seq"];
        notification: Schemas["Notification"];
        status: Schemas["Status"];
        steps: Schemas["Step"][];
    };
    Step: {
        seq?: Schemas["Seq"];
        at?: Schemas["Timestamp"];
        state: "stored" | "leased" | "held" | "unreachable" | "emitted" | "returned" | "acked" | "expired" | "evicted" | "superseded" | "withdrawn" | "dropped" | "answered" | "claimed" | "settled" | "reopened" | "delivered" | "taken" | "fired" | "started" | "failed" | "escalated" | "seen" | "unseen";
        project?: Schemas["Project"];
        inbox?: Schemas["Name"];
        by?: string;
        way?: Schemas["Way"];
        until?: Schemas["Timestamp"];
        limit?: string;
        rides_along?: string;
        why?: string;
    };
    SeenRequest: {
        ids?: Schemas["Seq"][];
        up_to?: Schemas["Seq"];
        project?: Schemas["Project"];
        inbox?: Schemas["Name"];
        types?: Schemas["Kind"][];
        from?: Schemas["Name"];
        session?: Schemas["Name"];
        min_priority?: Schemas["Priority"];
        q?: string;
        seen?: boolean;
        undo?: Schemas["Seq"];
    };
    SeenReply: {
        seen: boolean;
        changed: number;
        undo?: Schemas["Seq"];
    };
    DeliveryEvent: {
        ids: Schemas["Seqs"];
        state: "emitted" | "returned" | "acked" | "expired" | "evicted" | "superseded" | "withdrawn" | "dropped" | "answered";
        way?: Schemas["Way"];
        project?: Schemas["Project"];
        inbox?: Schemas["Name"];
        by?: string;
        why?: string;
        at: Schemas["Timestamp"];
    };
    NewsEvent: {
        what: "known" | "turn" | "gone" | "primary" | "set" | "removed" | "claimed" | "settled";
        at: Schemas["Timestamp"];
        id?: Schemas["Seq"];
        by?: string;
        state?: Schemas["QuestionState"];
        answer?: Schemas["Seq"];
        ended?: string;
    };
    SeenEvent: {
        ids: Schemas["Seqs"];
        up_to?: number | null;
        ranges: Schemas["Seq"][][];
        seen: boolean;
        at: Schemas["Timestamp"];
    };
    PresenceEvent: {
        waiters: {
            project: Schemas["Project"];
            inbox: Schemas["Name"];
            waiter: Schemas["Holder"];
        }[];
        held: Schemas["Seq"][];
        focused: boolean;
    };
    StreamEvents: {
        start?: Schemas["StartEvent"];
        notification?: Schemas["Notification"];
        delivery?: Schemas["DeliveryEvent"];
        session?: Schemas["NewsEvent"];
        listener?: Schemas["NewsEvent"];
        question?: Schemas["NewsEvent"];
        seen?: Schemas["SeenEvent"];
        presence?: Schemas["PresenceEvent"];
        need?: Schemas["NeedList"];
        sessions?: Schemas["SessionsEvent"];
        preferences?: Schemas["Preferences"];
        reset?: Schemas["ResetEvent"];
        gap?: Schemas["GapEvent"];
    };
    StartEvent: {
        epoch: string;
        after: Schemas["Place"];
    };
    ResetEvent: {
        epoch: string;
        head: Schemas["Place"];
    };
    GapEvent: {
        from: Schemas["Seq"];
        to: Schemas["Seq"];
        reason?: "corrupt";
    };
    Dashboard: {
        hub: Schemas["HubInfo"];
        sessions: Schemas["SessionList"];
        needs: Schemas["Need"][];
        wholes: Schemas["Need"][];
        history: Schemas["HistoryPage"];
        preferences: Schemas["Preferences"];
        devices: Schemas["Device"][];
        tags: {
            sessions: Schemas["ListTag"];
            needs: Schemas["ListTag"];
        };
    };
    ListTag: string;
    SessionList: {
        sessions: Schemas["Session"][];
        ended: number;
        reporting: Schemas["Reporting"];
    };
    Reporting: string[];
    QuestionList: {
        questions: Schemas["Question"][];
        next?: Schemas["Seq"];
    };
    HubInfo: {
        version: string;
        url: string;
        state_dir: string;
        host: string;
        now: string;
        epoch: string;
        head: number;
        agents_may_approve?: boolean;
        cluster?: Schemas["ClusterInfo"];
        forwards?: Schemas["ForwardInfo"][];
    };
    ForwardInfo: {
        name: string;
        kind: "ntfy" | "webhook" | "slack" | "discord";
        behind: number;
        sent: number;
        refused: number;
        sent_at?: Schemas["Timestamp"];
        failed_at?: Schemas["Timestamp"];
        error?: string;
    };
    ClusterInfo: {
        name: string;
        node: string;
        role: "active" | "standby";
        active?: string;
        since?: string;
        behind: number;
        fault?: string;
        damage?: string;
        nodes: Schemas["ClusterNode"][];
    };
    ClusterNode: {
        node: string;
        role: "active" | "standby" | "leaving" | "silent";
        head: number;
        version: string;
        fault?: string;
        seen_at: string;
    };
    Takeover: {
        active: string;
        since: string;
        took_ms: number;
    };
    BrowserSession: {
        token: string;
        expires_at: Schemas["Timestamp"];
    };
    Device: {
        id: string;
        name: string;
        created_at: Schemas["Timestamp"];
        used_at: Schemas["Timestamp"];
        expires_at: Schemas["Timestamp"];
        access?: Schemas["PhoneAccess"];
        own?: boolean;
    };
    PushSubscription: {
        endpoint: string;
        keys: {
            p256dh: string;
            auth: string;
        };
    };
    PhoneAccess: "answers" | "reads";
    AskersPlace: {
        host?: string;
        cwd?: string;
        pane?: string;
    };
    Problem: {
        status: number;
        code: string;
        title: string;
        detail?: string;
        hint: string;
        inbox?: Schemas["Name"];
        holder?: Schemas["Holder"];
        nearest?: Schemas["Name"];
        question?: Schemas["Seq"];
        state?: Schemas["QuestionState"];
        where?: Schemas["AskersPlace"];
    };
}
