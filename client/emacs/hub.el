;;; hub.el --- Talk to the coding agents of this machine  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, processes
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; A client of the hub for Emacs.  It runs the program `hubctl', which finds
;; the hub of this machine.
;;
;;   M-x hub-send              sends a line to an agent, with the region
;;   M-x hub-capture           writes a longer message in a buffer
;;   M-x hub-needs             lists what you have to do, and answers questions
;;   M-x hub-mode-line-mode    shows how many agents wait for you
;;
;; An example of a configuration:
;;
;;   (require 'hub)
;;   (hub-mode-line-mode)
;;   (global-set-key (kbd "C-c h") hub-command-map)

;;; Code:

(require 'iso8601)
(require 'json)
(require 'seq)
(require 'subr-x)
(require 'tabulated-list)

(defgroup hub nil
  "Notifications between coding agents."
  :group 'tools
  :prefix "hub-")

(defcustom hub-program "hubctl"
  "The program that talks to the hub."
  :type 'file)

(defcustom hub-recipient "primary"
  "The inbox that `hub-send' and `hub-capture' suggest."
  :type 'string)

(defcustom hub-refresh-seconds 60
  "The time after which the mode line counts again without an event.
Some sessions need you because of time alone, such as one that was
silent for long."
  :type 'natnum)

(defface hub-waiting '((t :inherit warning))
  "The number of agents that wait for you, in the mode line.")

;;;###autoload
(defvar hub-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map "s" #'hub-send)
    (define-key map "c" #'hub-capture)
    (define-key map "n" #'hub-needs)
    map)
  "The commands of the hub, for a key of your choice.")
;;;###autoload
(fset 'hub-command-map hub-command-map)

;;; The hub's program

(defconst hub--undelivered 6
  "The exit code of hubctl for an answer that does not reach the session.")
(define-error 'hub-undelivered "The answer does not reach the session" 'user-error)

(defun hub--run (args &optional input)
  "Run hubctl with ARGS and the text INPUT; return its output.
An error of hubctl is signalled with its own words; an answer that is
stored but does not reach the session, as `hub-undelivered'."
  (let ((errors (make-temp-file "hub")))
    (unwind-protect
        (with-temp-buffer
          (let* ((coding-system-for-read 'utf-8)
                 (coding-system-for-write 'utf-8)
                 (status (hub--call args (or input "") errors))
                 (output (buffer-string)))
            (unless (eql status 0)
              (erase-buffer)
              (insert-file-contents errors)
              (signal (if (eql status hub--undelivered) 'hub-undelivered 'user-error)
                      (list (string-trim (buffer-string)))))
            output))
      (delete-file errors))))

(defun hub--call (args input errors)
  "Run hubctl with ARGS and INPUT; return its exit status.
The output goes into this buffer and the errors into the file ERRORS."
  (condition-case nil
      (apply #'call-process-region input nil hub-program nil
             (list t errors) nil args)
    (file-missing
     (user-error "The program %s is missing: install the hub, or set `hub-program'"
                 hub-program))))

(defun hub--parse (text)
  "Return the JSON value TEXT with alists and lists."
  (json-parse-string text :object-type 'alist :array-type 'list
                     :null-object nil :false-object nil))

(defun hub--sessions-of (output)
  "Return the sessions in OUTPUT of hubctl sessions."
  (alist-get 'sessions (hub--parse output)))

(defun hub--name (session)
  "Return the name of SESSION, or the id of one without a name."
  (let-alist session (or .name .id)))

;;; Sending

(defun hub--place ()
  "Return the visited file, the line and the region, as data for an agent.
Without a visited file and a region, return nil."
  (let ((file (buffer-file-name (buffer-base-buffer))))
    (append
     (when file
       `((file . ,(expand-file-name file))
         (line . ,(line-number-at-pos (if (use-region-p) (region-beginning) (point))
                                      t))))
     (when (use-region-p)
       `((end_line . ,(line-number-at-pos (max (point-min) (1- (region-end))) t))
         (text . ,(buffer-substring-no-properties (region-beginning)
                                                  (region-end))))))))

(defun hub--read-recipient ()
  "Read the inbox of a live session, or any other inbox."
  (let ((names (mapcar #'hub--name
                       (hub--sessions-of (hub--run '("sessions" "--json"))))))
    (completing-read (format "To (default %s): " hub-recipient)
                     (seq-uniq (cons hub-recipient (delq nil names)))
                     nil nil nil nil hub-recipient)))

(defun hub--read-priority ()
  "Read a priority after a prefix argument; it is normal without one."
  (if current-prefix-arg
      (completing-read "Priority (default normal): "
                       '("urgent" "high" "normal" "low") nil t nil nil "normal")
    "normal"))

(defun hub--notify (message to priority data)
  "Send MESSAGE to the inbox TO with PRIORITY and DATA; return its number."
  (when (string-blank-p message)
    (user-error "The message is empty"))
  (let* ((json (and data (list "--data" (json-serialize data))))
         (args `("notify" "--json" "--type" "message" "--to" ,to
                 "--priority" ,priority ,@json "-"))
         (answer (hub--parse (hub--run args message))))
    (alist-get 'id answer)))

;;;###autoload
(defun hub-send (message &optional to priority data)
  "Send MESSAGE to the inbox TO; `hub-recipient' without one.
PRIORITY is urgent, high, normal or low; low waits for the next
notification that wakes.  DATA is an alist that the agent gets as JSON.
Interactively, DATA is the visited file with the line, and the region if
it is active; a prefix argument asks for the priority."
  (interactive
   (let ((data (hub--place))
         (to (hub--read-recipient)))
     (list (read-string (format "Message for %s: " to)) to
           (hub--read-priority) data)))
  (let* ((to (or to hub-recipient))
         (id (hub--notify message to (or priority "normal") data)))
    (message "Sent %s to %s" id to)
    id))

(defvar-local hub--capture nil
  "The recipient, priority and data of the message in this buffer.")

(defvar hub-capture-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'hub-capture-send)
    (define-key map (kbd "C-c C-k") #'hub-capture-cancel)
    map)
  "The keys of a buffer in which a message is written.")

(define-derived-mode hub-capture-mode text-mode "Hub-Capture"
  "A message to an agent that is being written.")

;;;###autoload
(defun hub-capture (to &optional priority)
  "Write a message to the inbox TO with PRIORITY in a buffer of its own.
The file and the line where you are, and the region if it is active, go
with the message."
  (interactive (list (hub--read-recipient) (hub--read-priority)))
  (let ((data (hub--place))
        (directory default-directory))
    (pop-to-buffer (generate-new-buffer (format "*hub: message to %s*" to)))
    (hub-capture-mode)
    ;; The project of the message is the one of the file.
    (setq default-directory directory
          hub--capture (list to (or priority "normal") data)
          header-line-format
          (substitute-command-keys
           (format "To %s%s.  \\[hub-capture-send] sends, \\[hub-capture-cancel] cancels"
                   to
                   (if-let ((file (alist-get 'file data)))
                       (format ", with %s:%s" (file-name-nondirectory file)
                               (alist-get 'line data))
                     ""))))))

(defun hub-capture-send ()
  "Send the message of this buffer, and close it."
  (interactive)
  (apply #'hub-send (string-trim (buffer-string)) hub--capture)
  (quit-window t))

(defun hub-capture-cancel ()
  "Close this buffer without sending its message."
  (interactive)
  (quit-window t))

;;; Needs

(defvar hub-needs-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'hub-answer)
    (define-key map "a" #'hub-allow)
    (define-key map "d" #'hub-deny)
    (define-key map "e" #'hub-done)
    (define-key map "c" #'hub-resume)
    (define-key map "v" #'hub-view-need)
    map)
  "The keys of the list of needs.")

(defvar hub-need-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "a" #'hub-allow)
    (define-key map "d" #'hub-deny)
    map)
  "The keys of a need that is shown whole.")

(define-derived-mode hub-need-mode special-mode "Hub-Need"
  "A need, with all that it says.
\\{hub-need-mode-map}")

(define-derived-mode hub-needs-mode tabulated-list-mode "Hub-Needs"
  "What you have to do, as the dashboard lists it.
\\{hub-needs-mode-map}"
  (setq tabulated-list-format [("Id" 6 nil) ("Kind" 10 t) ("Age" 5 nil) ("From" 16 t)
                               ("Project" 14 t) ("Text" 0 nil)]
        tabulated-list-entries #'hub--need-entries)
  (tabulated-list-init-header))

;;;###autoload
(defun hub-needs ()
  "List what you have to do: the most urgent kind first."
  (interactive)
  (with-current-buffer (get-buffer-create "*hub needs*")
    (hub-needs-mode)
    (tabulated-list-print)
    (pop-to-buffer (current-buffer))))

(defun hub--need-entries ()
  "Return the open needs as the entries of the list."
  (mapcar (lambda (need)
            (let-alist need
              (list need
                    (vector .id (string-replace "_" " " .kind) (hub--age .since)
                            (hub--visible .name)
                            (file-name-nondirectory .project)
                            (hub--visible .line)))))
          (seq-remove (lambda (need) (alist-get 'settled need))
                      (alist-get 'needs
                                 (hub--parse (hub--run '("needs" "--json")))))))

(defconst hub--text-column 57
  "The width of the columns before the text, with their gaps.")

(defun hub--age (time)
  "Return how long ago TIME was, in one unit."
  (let ((seconds (- (float-time) (float-time (encode-time (iso8601-parse time t))))))
    (cond ((< seconds 60) "now")
          ((< seconds 3600) (format "%dm" (/ seconds 60)))
          ((< seconds 86400) (format "%dh" (/ seconds 3600)))
          (t (format "%dd" (/ seconds 86400))))))

(defun hub--visible (text)
  "Return TEXT without characters that change how other text is shown."
  (replace-regexp-in-string "[\u200e\u200f\u202a-\u202e\u2066-\u2069[:cntrl:]]"
                            "" (subst-char-in-string ?\t ?\s text)))

(defun hub--visible-lines (text)
  "Return TEXT like `hub--visible', with its line feeds."
  (mapconcat #'hub--visible (split-string text "\n") "\n"))

(defvar-local hub--viewed nil
  "The need that this buffer shows.")

(defvar-local hub--request-end nil
  "Where the text ends that would be allowed.")

(defun hub--need ()
  "Return the need of this line, or of this buffer."
  (or hub--viewed (tabulated-list-get-id)
      (user-error "There is no need on this line")))

(defun hub--whole (need)
  "Return NEED whole: with its text, and the controls that answer it."
  (hub--parse (hub--run (list "needs" "--json" (alist-get 'id need)))))

(defun hub--control (need)
  "Return the first control that answers NEED, which is whole."
  (car (alist-get 'controls need)))

(defun hub--end (need args &optional input)
  "End NEED by running hubctl with ARGS and INPUT, and list the others."
  (let ((said (condition-case stored
                  (progn (hub--run args input)
                         (format "Done: %s" (alist-get 'id need)))
                (hub-undelivered (cadr stored)))))
    (when (derived-mode-p 'hub-needs-mode)
      (revert-buffer))
    (message "%s" said)))

(defun hub--answer (need answer)
  "Answer NEED with ANSWER, and list the others.
ANSWER is a text, or a list with one for each question of a dialog.
It is refused if NEED says something else by now."
  (let-alist need
    (let ((args (list "answer" .id (format "--revision=%d" .revision))))
      (if (listp answer)
          (hub--end need (append args (mapcar (lambda (it) (concat "--each=" it)) answer)))
        (hub--end need (append args '("-")) answer)))))

(defun hub--read (need control)
  "Read an answer for one CONTROL of NEED.
Its options are offered for completion."
  (let-alist control
    (let ((prompt (format "%s " (hub--visible (or .question (alist-get 'text need)))))
          (labels (mapcar (lambda (it) (alist-get 'label it)) .options)))
      (if labels (completing-read prompt labels) (read-string prompt)))))

(defun hub-answer (need answer)
  "Answer NEED with ANSWER: a text, or a list of texts.
Interactively, the need is the one of this line, and its options are
offered for completion.  A dialog with several questions asks for the
answer to each."
  (interactive
   (let* ((need (hub--whole (hub--need)))
          (controls (or (alist-get 'controls need)
                        (user-error "Nobody would read an answer: press e")))
          (answers (mapcar (lambda (control) (hub--read need control)) controls)))
     (list need (if (cdr answers) answers (car answers)))))
  (when (seq-some #'string-blank-p (ensure-list answer))
    (user-error "The answer is empty"))
  (hub--answer need answer))

(defun hub--decision ()
  "Return the need of this line, which must ask for a decision."
  (let ((need (hub--whole (hub--need))))
    (unless (equal (alist-get 'type (hub--control need)) "verdict")
      (user-error "This is not answered by a decision: press RET"))
    need))

(defun hub-allow (need)
  "Allow what NEED asks for: a tool, or a plan.
Its whole text must be on the screen: unless the line of the list shows
it, it is shown in a buffer of its own, where `a' allows it once its end
is visible."
  (interactive (list (hub--decision)))
  (cond ((not (alist-get 'allow (hub--control need)))
         (user-error "The hub does not have all of it: allow it in the agent's own terminal"))
        ((hub--drawn-p need)
         (hub--answer need "allow"))
        (t
         (hub-view-need need)
         (message "Read it to its end, then press a there"))))

(defun hub--drawn-p (need)
  "Whether the text of NEED is visible to its end: on its line, or in its buffer."
  (when-let ((window (get-buffer-window nil t)))
    (if (derived-mode-p 'hub-needs-mode)
        (let-alist need
          (and .complete
               (string= .line .brief)
               (< (+ hub--text-column (string-width .line))
                  (window-body-width window))))
      (let ((start (window-start window)))
        (and (<= start hub--request-end)
             (<= (count-screen-lines start hub--request-end nil window)
                 (window-body-height window)))))))

(defun hub-deny (need reason)
  "Deny what NEED asks for, and tell the agent the REASON."
  (interactive (list (hub--decision) (read-string "Reason (may be empty): ")))
  (hub--answer need (if (string-blank-p reason) "deny" (concat "deny: " reason))))

(defun hub-done (need)
  "End NEED, which is not a question: its session needs nothing."
  (interactive (list (hub--need)))
  (hub--end need (list "done" (alist-get 'id need))))

(defun hub-resume (need)
  "Let the session of NEED go on when its limit ends, or not any more."
  (interactive (list (hub--need)))
  (let-alist need
    (unless .resume
      (user-error "It waits for no limit whose end is known"))
    (let ((output (hub--run `("resume" ,.id ,@(and .resume.chosen '("--undo"))))))
      (when (derived-mode-p 'hub-needs-mode)
        (revert-buffer))
      (message "%s" (string-trim output)))))

(defun hub-view-need (need)
  "Show the whole NEED, with its options and the words before it."
  (interactive (list (hub--whole (hub--need))))
  (with-current-buffer (get-buffer-create "*hub need*")
    (let ((inhibit-read-only t)
          end)
      (erase-buffer)
      (let-alist need
        (insert (format "%s %s in %s:\n\n%s" (hub--visible .name) (hub--visible .title)
                        .project (hub--visible-lines .text)))
        (setq end (point))
        (insert "\n")
        (dolist (control .controls)
          (dolist (option (alist-get 'options control))
            (let-alist option
              (insert "\n- " (hub--visible .label))
              (unless (string-blank-p (or .description ""))
                (insert " – " (hub--visible .description))))))
        (when .context
          (insert "\n\nBefore it asked:\n\n" (hub--visible-lines .context))))
      (goto-char (point-min))
      (hub-need-mode)
      (setq hub--viewed need
            hub--request-end end))
    (set-window-point (display-buffer (current-buffer)) (point-min))))

;;; The mode line

(defvar hub--mode-line ""
  "The hub's part of the mode line.")
(put 'hub--mode-line 'risky-local-variable t)

(defvar hub--stream nil
  "The process that reports events of the hub.")

(defvar hub--count nil
  "The process that counts the agents that wait.")

(defvar hub--timers nil
  "An alist from the purpose of a timer to the timer.")

(defvar hub--mode-line-map
  (let ((map (make-sparse-keymap)))
    (define-key map [mode-line mouse-1] #'hub-needs)
    map)
  "The keys of the hub's part of the mode line.")

;;;###autoload
(define-minor-mode hub-mode-line-mode
  "Show in the mode line what you have to do.
The part is empty while that is nothing, and `hub:off' while no hub runs."
  :global t
  (hub--stop)
  (setq global-mode-string (delq 'hub--mode-line global-mode-string))
  (when hub-mode-line-mode
    (setq global-mode-string
          (append (or global-mode-string '("")) '(hub--mode-line)))
    (hub--start)))

(defun hub--start ()
  "Begin to follow the hub, and count."
  (hub--later 'count hub-refresh-seconds #'hub--count-now)
  (condition-case error
      (setq hub--stream
            (make-process
             :name "hub-stream" :noquery t :connection-type 'pipe
             :command (list hub-program "stream" "--kinds"
                            "need")
             :filter #'hub--events :sentinel #'hub--stream-ended))
    (file-missing (hub-mode-line-mode -1)
                  (user-error "%s" (error-message-string error))))
  (hub--count-now))

(defun hub--stop ()
  "End the processes and timers."
  (dolist (process (list hub--stream hub--count))
    (when (process-live-p process)
      (set-process-sentinel process #'ignore)
      (delete-process process)))
  (mapc (lambda (timer) (cancel-timer (cdr timer))) hub--timers)
  (setq hub--stream nil hub--count nil hub--timers nil)
  (hub--show ""))

(defun hub--later (purpose seconds function)
  "Call FUNCTION in SECONDS, in place of an earlier timer for PURPOSE."
  (when-let ((timer (alist-get purpose hub--timers)))
    (cancel-timer timer))
  (setf (alist-get purpose hub--timers) (run-at-time seconds nil function)))

(defun hub--events (_process _lines)
  "Count again after events; several events cause one count."
  (hub--later 'count 0.2 #'hub--count-now))

(defun hub--stream-ended (_process _event)
  "Begin again after the stream has ended."
  (hub--later 'stream 5 (lambda () (when hub-mode-line-mode (hub--stop) (hub--start)))))

(defun hub--count-now ()
  "Count the agents that wait, without waiting for the answer."
  (hub--later 'count hub-refresh-seconds #'hub--count-now)
  (unless (process-live-p hub--count)
    (let ((buffer (generate-new-buffer " *hub-count*")))
      (setq hub--count
            (make-process
             :name "hub-count" :noquery t :connection-type 'pipe :buffer buffer
             :command (list hub-program "needs" "--json")
             :stderr (get-buffer-create " *hub-count-errors*")
             :sentinel #'hub--counted)))))

(defun hub--counted (process _event)
  "Show what PROCESS counted."
  (unless (process-live-p process)
    (unwind-protect
        (hub--show
         (if (zerop (process-exit-status process))
             (hub--describe (alist-get 'needs
                                       (hub--parse
                                        (with-current-buffer (process-buffer process)
                                          (buffer-string)))))
           (propertize " hub:off" 'help-echo "No hub runs: hubctl up starts one")))
      (kill-buffer (process-buffer process)))))

(defun hub--describe (needs)
  "Return the mode line's text for NEEDS."
  (let ((waiting (seq-filter (lambda (it) (eq (alist-get 'counts it) t)) needs)))
    (if (null waiting)
        ""
      (propertize (format " hub:%d" (length waiting))
                  'face 'hub-waiting 'mouse-face 'mode-line-highlight
                  'local-map hub--mode-line-map
                  'help-echo (mapconcat #'hub--describe-one waiting "\n")))))

(defun hub--describe-one (need)
  "Return one line about NEED."
  (let-alist need
    (format "%s %s" (hub--visible .name) .title)))

(defun hub--show (text)
  "Make TEXT the hub's part of the mode line."
  (unless (equal-including-properties text hub--mode-line)
    (setq hub--mode-line text)
    (force-mode-line-update t)))

(provide 'hub)
;;; hub.el ends here
