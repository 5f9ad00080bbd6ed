;;; hub-test.el --- Tests of hub.el against a real hub  -*- lexical-binding: t; -*-

;;; Commentary:

;; The hub of `HUB_STATE_DIR' must run, without other users.

;;; Code:

(require 'cl-lib)
(require 'ert)
(require 'hub)

(defun hub-test-ctl (args &optional input)
  "Run hubctl with the words of ARGS and INPUT."
  (hub--run (split-string-and-unquote args) input))

(defun hub-test-message (id)
  "Return the notification ID."
  (cl-find id (mapcar #'hub--parse
                      (split-string (hub-test-ctl "history --json") "\n" t))
           :key (lambda (it) (alist-get 'id it))))

(defun hub-test-question (id)
  "Return the question ID, which may be closed."
  (cl-find id (alist-get 'questions (hub--parse (hub-test-ctl "questions --all --all-projects --json")))
           :key (lambda (it) (alist-get 'id it))))

(defun hub-test-ask (from type text)
  "Ask the person TEXT as the session FROM; return the question's number."
  (alist-get 'id (hub--parse
                  (hub--run (list "notify" "--json" "--from" from "--type" type text)))))

(defun hub-test-hook (event &optional query)
  "Send the hook EVENT of an agent, which the hub may hold; return the process.
QUERY is the end of the address."
  (make-process :name "hub-test-hook" :noquery t
                :command (list "curl" "-s" "--unix-socket"
                               (expand-file-name "hub.sock" (getenv "HUB_STATE_DIR"))
                               "--data-binary" event
                               (concat "http://localhost/hooks/claude" query))))

(defun hub-test-until-exit (process)
  "Wait until PROCESS has ended."
  (hub-test-until (lambda () (not (process-live-p process)))))

(defun hub-test-held (from questions)
  "Ask QUESTIONS in a dialog of the agent FROM; return the question's number."
  (hub-test-held-tool from "AskUserQuestion" (format "{\"questions\": [%s]}" questions)))

(defun hub-test-held-tool (from tool input)
  "Ask for the agent FROM to use TOOL with INPUT; return the question's number.
The agent's hook waits for the answer."
  (let ((event (format "{\"session_id\": \"%s\", \"hook_event_name\": \"PermissionRequest\",
\"tool_name\": \"%s\", \"tool_input\": %s}" from tool input))
        id)
    (hub-test-hook event)
    (hub-test-until
     (lambda ()
       (dolist (it (alist-get 'questions (hub--parse (hub-test-ctl "questions --all-projects --json"))))
         (let-alist it
           (when (and (equal .from from) .deliverable)
             (setq id .id))))
       id))
    id))

(defun hub-test-until (holds)
  "Handle events until the function HOLDS returns true."
  (with-timeout (30 (ert-fail (list "it does not happen" hub--mode-line)))
    (while (not (funcall holds))
      (accept-process-output nil 0.05))))

(defmacro hub-test-with-input (inputs &rest body)
  "Run BODY; every prompt is answered with the next one of INPUTS."
  (declare (indent 1))
  `(let ((inputs ,inputs))
     (cl-letf (((symbol-function 'read-string) (lambda (&rest _) (pop inputs)))
               ((symbol-function 'completing-read) (lambda (&rest _) (pop inputs))))
       ,@body)))

(defmacro hub-test-in-file (&rest body)
  "Run BODY in a buffer that visits a file of three lines."
  `(let ((file (make-temp-file "hub-test" nil ".txt" "one\nzwei, für\nthree\n")))
     (unwind-protect
         (with-current-buffer (find-file-noselect file)
           (unwind-protect (progn ,@body) (kill-buffer)))
       (delete-file file))))

(ert-deftest hub-test-a-message-carries-the-region-and-its-place ()
  (hub-test-in-file
   (transient-mark-mode)
   (goto-char (point-min))
   (forward-line)
   (push-mark (point) t t)
   (forward-line)
   (let* ((id (hub-test-with-input '("w1" "please look")
                (call-interactively #'hub-send)))
          (sent (hub-test-message id)))
     (let-alist sent
       (should (equal (list .to .msg .type .priority)
                      '("w1" "please look" "message" "normal")))
       (should (equal (expand-file-name file) .data.file))
       (should (equal (list .data.line .data.end_line .data.text)
                      '(2 2 "zwei, für\n")))))))

(ert-deftest hub-test-a-prefix-argument-asks-for-the-priority ()
  (with-temp-buffer
    (let* ((current-prefix-arg '(4))
           (id (hub-test-with-input '("w1" "now" "urgent")
                 (call-interactively #'hub-send))))
      (let-alist (hub-test-message id)
        (should (equal .priority "urgent"))
        (should-not .data)))))

(ert-deftest hub-test-an-empty-message-is-not-sent ()
  (should-error (hub-send " \n") :type 'user-error))

(ert-deftest hub-test-a-captured-message-is-sent-with-its-place ()
  (hub-test-in-file
   (goto-char (point-max))
   (hub-capture "w2")
   (insert "First line.\n\nMore: \"quotes\" and --dashes.\n")
   (let ((buffer (current-buffer)))
     (hub-capture-send)
     (should-not (buffer-live-p buffer)))
   (let ((newest (hub--parse (hub-test-ctl "history --limit 1 --json"))))
     (let-alist newest
       (should (equal .to "w2"))
       (should (equal .msg "First line.\n\nMore: \"quotes\" and --dashes."))
       (should (equal .data.line 4))))))

(defun hub-test-goto (id)
  "Go to the line of the need ID of the list, which is read again."
  (revert-buffer)
  (goto-char (point-min))
  (while (not (equal id (alist-get 'id (tabulated-list-get-id))))
    (unless (zerop (forward-line))
      (ert-fail (list "not listed" id (buffer-string))))))

(ert-deftest hub-test-questions-are-listed-and-answered ()
  (let ((first (hub-test-ask "asker-1" "question" "Which\u202e database?"))
        (second (hub-test-ask "asker-2" "approval" "May I push?")))
    (hub-needs)
    (with-current-buffer "*hub needs*"
      (hub-test-goto (number-to-string first))
      (should (string-match-p "question +now +asker-1 +emacs +Which\\[U\\+202E\\] database\\?"
                              (thing-at-point 'line t)))
      (call-interactively #'hub-view-need)
      (with-current-buffer "*hub need*"
        (should (string-match-p "asker-1 asks in emacs:" (buffer-string))))
      (should-error (call-interactively #'hub-allow) :type 'user-error)
      (hub-test-with-input '("postgres") (call-interactively #'hub-answer))
      (let-alist (hub-test-question first)
        (should (equal (list .state .answer) '("answered" "postgres"))))
      (hub-test-goto (number-to-string second))
      (hub-test-with-input '("not today") (call-interactively #'hub-deny))
      (let-alist (hub-test-question second)
        (should (equal .answer "deny: not today")))
      ;; Each question of a dialog has an answer of its own.
      (let* ((part "{\"question\": \"%s?\", \"options\": [{\"label\": \"%s; b\"}]}")
             (parts (concat (format part "One" "a") "," (format part "Two" "c")))
             (third (hub-test-held "asker-6" parts)))
        (hub-test-goto (number-to-string third))
        (hub-test-with-input '("a; b" "-x") (call-interactively #'hub-answer))
        (let-alist (hub-test-question third)
          (should (equal .answers '("a; b" "-x")))))
      ;; A second answer is refused with the reason.
      (let ((refused (should-error (hub--answer `((id . ,(number-to-string second))
                                                  (revision . ,second))
                                                "allow")
                                   :type 'user-error)))
        (should (string-match-p "answered" (error-message-string refused)))))))

(ert-deftest hub-test-an-answer-to-a-session-that-is-over-is-stored-and-said ()
  (cl-flet ((report (event)
              (hub-test-until-exit
               (hub-test-hook (json-serialize `((hook_event_name . ,event) (cwd . "/")
                                                (reason . "prompt_input_exit")
                                                (session_id . "over-1")))
                              "?project=emacs"))))
    (report "SessionStart")
    (let ((id (hub-test-ask "over-1" "question" "Which?"))
          said)
      (report "SessionEnd")
      (hub-needs)
      (with-current-buffer "*hub needs*"
        (hub-test-goto (number-to-string id))
        (cl-letf (((symbol-function 'message)
                   (lambda (&rest words) (setq said (apply #'format words)))))
          (hub-test-with-input '("postgres") (call-interactively #'hub-answer)))
        (should (string-match-p "the session that asked is over" said))
        (should-not (string-search "Which?" (buffer-string))))
      (should (equal (alist-get 'answer (hub-test-question id)) "postgres")))))

(ert-deftest hub-test-a-session-that-has-stopped-gets-a-message-or-is-done ()
  (let ((words (concat "It is written. " (make-string 300 ?x) " The end.")))
    (dolist (name '("stopped-1" "stopped-2"))
      (hub-test-hook (json-serialize `((hook_event_name . "Stop") (session_id . ,name)
                                       (cwd . "/") (last_assistant_message . ,words)))))
    (cl-flet ((need (session)
                (cl-find session (mapcar #'car (hub--need-entries))
                         :key (lambda (it) (alist-get 'session it)) :test #'equal)))
      (hub-test-until (lambda () (and (need "stopped-1") (need "stopped-2"))))
      (hub-needs)
      (with-current-buffer "*hub needs*"
        (hub-test-goto (alist-get 'id (need "stopped-1")))
        (call-interactively #'hub-view-need)
        (with-current-buffer "*hub need*"
          (should (string-search words (buffer-string))))
        (let ((project (alist-get 'project (need "stopped-1")))
              (earlier (mapcar (lambda (it) (if (eq (car it) 'revision) '(revision . 1) it))
                               (need "stopped-1"))))
          ;; A text that was read before is not what is answered.
          (should-error (hub--answer earlier "Go on.") :type 'user-error)
          (hub-test-with-input '("Go on.") (call-interactively #'hub-answer))
          (let-alist (hub--parse (hub--run (list "history" "--limit" "1" "--json"
                                                 "--project" project)))
            (should (equal (list .to .msg) '("stopped-1" "Go on.")))))
        ;; Nothing wakes this session.
        (hub-test-until (lambda ()
                          (equal (alist-get 'title (need "stopped-1"))
                                 "has not taken your message")))
        (hub--run (list "done" (alist-get 'id (need "stopped-1"))))
        (hub-test-goto (alist-get 'id (need "stopped-2")))
        (call-interactively #'hub-done)
        (should-not (need "stopped-2"))))))

(ert-deftest hub-test-a-session-at-its-limit-goes-on-at-its-end-or-waits-again ()
  (let ((limit (format "Claude AI usage limit reached|%d" (+ 3600 (time-convert nil 'integer)))))
    (dolist (event `(((hook_event_name . "UserPromptSubmit") (prompt . "go"))
                     ((hook_event_name . "StopFailure") (error . "rate_limit")
                      (last_assistant_message . ,limit))))
      (hub-test-until-exit
       (hub-test-hook (json-serialize `((session_id . "limited") (cwd . "/") ,@event))))))
  (cl-flet ((need ()
              (cl-find "limited" (mapcar #'car (hub--need-entries))
                       :key (lambda (it) (alist-get 'session it)) :test #'equal)))
    (hub-test-until #'need)
    (hub-needs)
    (with-current-buffer "*hub needs*"
      (dolist (chosen '(t nil))
        (hub-test-goto (alist-get 'id (need)))
        (call-interactively (key-binding "c"))
        (should (eq (let-alist (need) .resume.chosen) chosen)))
      (let ((question (number-to-string (hub-test-ask "asker-8" "question" "?"))))
        (revert-buffer)
        (hub-test-goto question)
        (should-error (call-interactively #'hub-resume) :type 'user-error)
        (hub--run (list "answer" question "yes")))
      (hub--run (list "done" (alist-get 'id (need)))))))

(ert-deftest hub-test-only-a-request-that-is-drawn-to-its-end-is-allowed ()
  (let* ((id (lambda (from text)
               (number-to-string (hub-test-ask from "approval" text))))
         (long (funcall id "asker-4" (mapconcat #'number-to-string (number-sequence 1 500) "\n")))
         (hidden (funcall id "asker-3" "rm \u202ea"))
         (short (funcall id "asker-5" "ls")))
    (hub-needs)
    (cl-flet ((allow (id)
                (with-current-buffer "*hub needs*"
                  (hub-test-goto id)
                  (call-interactively #'hub-allow)))
              (state (id) (alist-get 'state (hub-test-question (string-to-number id)))))
      (allow short)
      (should (equal (state short) "answered"))
      ;; Its line shows only that something is hidden.
      (allow hidden)
      (should (equal (state hidden) "open"))
      (with-current-buffer "*hub need*"
        (should (string-search "rm [U+202E]a" (buffer-string))))
      (allow long)
      (should (equal (state long) "open"))
      (with-current-buffer "*hub need*"
        (call-interactively #'hub-allow)
        (should (equal (state long) "open"))
        (set-window-start (get-buffer-window nil t) (- hub--request-end 5))
        (call-interactively #'hub-allow))
      (should (equal (state long) "answered"))
      (hub--answer `((id . ,hidden) (revision . ,(string-to-number hidden))) "deny"))
    ;; The hub does not have the change that this would make.
    (let* ((file (hub-test-held-tool "asker-7" "Write" "{\"file_path\": \"/a\"}"))
           (refused (should-error
                     (with-current-buffer "*hub needs*"
                       (hub-test-goto (number-to-string file))
                       (call-interactively #'hub-allow))
                     :type 'user-error)))
      (should (string-match-p "own terminal" (error-message-string refused)))
      (hub--run (list "answer" (number-to-string file) "deny")))))

(ert-deftest hub-test-a-missing-program-is-named ()
  (let* ((hub-program "hubctl-that-does-not-exist")
         (refused (should-error (hub-send "hello" "w1") :type 'user-error)))
    (should (string-match-p "hubctl-that-does-not-exist" (error-message-string refused)))))

(ert-deftest hub-test-the-mode-line-counts-the-agents-that-wait ()
  (unwind-protect
      (progn
        (hub-mode-line-mode)
        (hub-test-until (lambda () (process-live-p hub--stream)))
        (let ((id (hub-test-ask "blocked" "question" "Go on?")))
          (hub-test-until (lambda () (string-match-p "hub:[1-9]" hub--mode-line)))
          (should (string-match-p "blocked asks"
                                  (get-text-property 1 'help-echo hub--mode-line)))
          (should (memq 'hub--mode-line global-mode-string))
          (hub--run (list "answer" (number-to-string id) "yes"))
          (hub-test-until
           (lambda () (not (string-match-p
                            "blocked asks"
                            (or (and (< 1 (length hub--mode-line))
                                     (get-text-property 1 'help-echo hub--mode-line))
                                "")))))))
    (hub-mode-line-mode -1))
  (should-not (memq 'hub--mode-line global-mode-string))
  (should (equal hub--mode-line ""))
  (should-not (process-live-p hub--stream)))

(ert-deftest hub-test-the-mode-line-says-when-no-hub-runs ()
  (let ((process-environment (cons "HUB_STATE_DIR=/nonexistent" process-environment)))
    (unwind-protect
        (progn
          (hub-mode-line-mode)
          (hub-test-until (lambda () (string-match-p "hub:off" hub--mode-line))))
      (hub-mode-line-mode -1))))

(provide 'hub-test)
;;; hub-test.el ends here
