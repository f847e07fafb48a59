;;; bridle-approve.el --- Questions that wait for a yes  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; The questions of all sessions as a list, one question in full, and the commands that answer them: in
;; the list, in a transcript and in the full view.  A yes is only taken for what was shown in full.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'tabulated-list)
(require 'bridle-session)
(require 'bridle-text)
(require 'bridle-action)
(require 'bridle-org)

(defvar-local bridle-approve--question nil "The question that this buffer shows.")
(defvar-local bridle-approve--grant nil "Scope and duration that this buffer previews.")

;;;; The list

(define-derived-mode bridle-approvals-mode tabulated-list-mode "Approvals"
  "Questions that wait for a yes.
\\{bridle-approvals-mode-map}"
  (setq tabulated-list-format [("Question" 14 t) ("Session" 14 t) ("Risk" 10 t) ("Until" 12 t)
                               ("Wanted" 0 nil)]
        tabulated-list-padding 1)
  (setq-local bidi-paragraph-direction 'left-to-right)
  (add-hook 'tabulated-list-revert-hook #'bridle-approve--fill nil t)
  (tabulated-list-init-header))

(set-keymap-parent bridle-approvals-mode-map
                   (make-composed-keymap bridle-question-map tabulated-list-mode-map))

;;;###autoload
(defun bridle-approvals ()
  "List the questions that wait for a yes."
  (interactive)
  (let ((buffer (get-buffer-create "*bridle approvals*"))
        (session (or bridle-org-session (car bridle-sessions) (bridle-current-session))))
    (with-current-buffer buffer
      (unless (derived-mode-p 'bridle-approvals-mode) (bridle-approvals-mode))
      (bridle-approve--fill)
      (tabulated-list-print t))
    (add-hook 'bridle-questions-changed-hook #'bridle-approve--refresh)
    (bridle-approve--ask-elsewhere session)
    (pop-to-buffer buffer)))

(declare-function bridle-current-session "bridle" ())

(defvar bridle-approve--elsewhere nil
  "Questions of sessions that are not open in this Emacs.")

(defun bridle-approve--ask-elsewhere (session)
  "Have the questions of all sessions listed by the daemon of SESSION."
  (bridle-session-request
   session :system '(:action :approvals)
   (lambda (payload)
     (setq bridle-approve--elsewhere
           (cl-loop for entry in (bridle-get-list payload :approvals) repeat 200
                    for question = (bridle-approve--elsewhere session entry)
                    when question collect question))
     (bridle-approve--refresh))))

(defun bridle-approve--elsewhere (session entry)
  "Return the question that ENTRY of the daemon of SESSION tells of.
Nil where this Emacs has it in a session of its own, or may not answer."
  (let ((id (bridle-get-string entry :approval)) (name (bridle-get-string entry :session)))
    (and id name (bridle-get entry :may-answer)
         (not (bridle-session-find name))
         (let ((question (bridle-session-read-question session id entry)))
           (setf (bridle-question-kind question) 'elsewhere
                 (bridle-question-place question) (bridle-text-line name 64))
           question))))

(defun bridle-approve--refresh ()
  "Show in the list of questions what is open now."
  (let ((buffer (get-buffer "*bridle approvals*")))
    (when buffer
      (with-current-buffer buffer
        (bridle-approve--fill)
        (tabulated-list-print t)))))

(defun bridle-approve--fill ()
  "Put the open questions into the entries of this list."
  (setq tabulated-list-entries
        (mapcar
         (lambda (question)
           (list question
                 (vector (bridle-text-line (format "%s" (bridle-question-id question)) 30)
                         (bridle-approve--place question)
                         (bridle-text-line (or (bridle-question-risk question) "") 12)
                         (let ((at (bridle-question-deadline question)))
                           (if at (format-time-string "%d %b %R" (/ at 1000)) ""))
                         (bridle-approve--summary question))))
         (append (bridle-all-questions) bridle-approve--elsewhere))))

(defun bridle-approve--place (question)
  "Return the name of the session that asks QUESTION."
  (or (bridle-question-place question) (bridle-session-name (bridle-question-session question))))

(defun bridle-approve--summary (question)
  "Return what QUESTION is for in one line."
  (bridle-text-line
   (let ((wanted (bridle-question-wanted question)))
     (or (bridle-get-string wanted :code)
         (and (bridle-question-diff question)
              (string-join (seq-filter (lambda (line) (string-match-p "\\`[-+][^-+]" line))
                                       (split-string (substring (bridle-question-diff question) 0
                                                                (min 2000 (length (bridle-question-diff
                                                                                   question))))
                                                     "\n"))
                           " "))
         (bridle-question-text question)))
   160))

;;;; One question

(defface bridle-added '((t :inherit success)) "Lines that are added." :group 'bridle)
(defface bridle-removed '((t :inherit error)) "Lines that are removed." :group 'bridle)

(define-derived-mode bridle-question-mode special-mode "Question"
  "One question that waits for a yes, in full.
\\{bridle-question-mode-map}"
  (setq-local bidi-paragraph-direction 'left-to-right)
  (buffer-disable-undo))

(set-keymap-parent bridle-question-mode-map
                   (make-composed-keymap bridle-question-map special-mode-map))

(defun bridle-approve--at-point ()
  "Return the question that is meant here, or signal an error."
  (or bridle-approve--question
      (and (derived-mode-p 'bridle-approvals-mode) (tabulated-list-get-id))
      (let ((id (get-text-property (point) 'bridle-question)))
        (and id bridle-org-session
             (cdr (assoc id (bridle-session-questions bridle-org-session)))))
      (user-error "No open question here")))

(defun bridle-show-question ()
  "Show the question at point in full."
  (interactive)
  (bridle-approve--show (bridle-approve--at-point)))

(defun bridle-approve--show (question)
  "Show QUESTION in full."
  (with-current-buffer (get-buffer-create "*bridle question*")
    (bridle-question-mode)
    (setq bridle-approve--question question)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (bridle-approve--insert-question question)
      (goto-char (point-min)))
    (setf (bridle-question-shown question) t)
    (pop-to-buffer (current-buffer))))

(defun bridle-approve--insert-question (question)
  "Insert all of QUESTION."
  (let ((wanted (bridle-question-wanted question)))
    (insert (bridle-text--lines (bridle-question-text question)) "\n\n"
            (format "Session %s, question %s, risk %s, for %s\n"
                    (bridle-approve--place question)
                    (bridle-text-line (format "%s" (bridle-question-id question)) 80)
                    (bridle-text-line (or (bridle-question-risk question) "unknown") 20)
                    (bridle-text-line (or (bridle-question-target question) "?") 40))
            (substitute-command-keys
             "\\<bridle-question-map>\\[bridle-allow] allow, \\[bridle-always] always, \\[bridle-deny] deny, \\[bridle-why] why\n\n"))
    (when (bridle-question-diff question)
      (dolist (line (split-string (bridle-text--lines (bridle-question-diff question)) "\n"))
        (insert (propertize line 'face (cond ((string-prefix-p "+" line) 'bridle-added)
                                             ((string-prefix-p "-" line) 'bridle-removed)))
                "\n"))
      (insert "\n"))
    (when (bridle-get-string wanted :code)
      (insert (bridle-text--lines (bridle-get-string wanted :code)) "\n\n"))
    (insert "Exactly:\n" (bridle-text--lines (bridle-write wanted)) "\n")
    (when (bridle-question-scopes question)
      (insert "\nFrom now on, with a time and after a preview:\n")
      (dolist (scope (bridle-question-scopes question))
        (insert "  " (bridle-text-line (bridle-question-scope-line scope) 400) "\n")))))

;;;; Answers

(defun bridle-allow ()
  "Allow exactly what the question at point shows, once."
  (interactive)
  (let ((question (bridle-approve--at-point)))
    (if (not (or (bridle-question-shown question) (bridle-approve--is-inline question)))
        (progn (bridle-approve--show question)
               (message "This is what a yes is for; the same key allows it"))
      (when (eq 'guard (bridle-question-kind question))
        (bridle-action-note-approval question))
      (bridle-approve--answer question 'allow)
      (bridle-approve--after question "Allowed"))))

(defun bridle-approve--answer (question verdict)
  "Answer QUESTION with VERDICT, wherever it is asked."
  (if (not (eq 'elsewhere (bridle-question-kind question)))
      (bridle-question-give-answer question verdict)
    (bridle-session-request
     (bridle-question-session question) :system
     `(:action :approve :approval ,(bridle-question-id question)
       :verdict ,(if (eq verdict 'allow) :allow :deny)
       ,@(and (bridle-question-hash question) (list :hash (bridle-question-hash question))))
     (lambda (payload)
       (unless (equal "success" (bridle-get-word payload :status))
         (message "%s: %s" (bridle-question-id question)
                  (bridle-text-line (or (bridle-get-string payload :message) "not answered") 120)))))
    (bridle-approve--gone question)))

(defun bridle-approve--gone (question)
  "Take QUESTION, which another session asked, off the list."
  (setq bridle-approve--elsewhere (delq question bridle-approve--elsewhere))
  (bridle-approve--refresh))

(defun bridle-approve--is-inline (question)
  "Whether the transcript here shows all of QUESTION at point."
  (and (derived-mode-p 'bridle-mode)
       (equal (bridle-question-id question) (get-text-property (point) 'bridle-question))
       (let ((wanted (bridle-question-wanted question)))
         (and (or (bridle-question-diff question) (bridle-get-string wanted :code))
              (< (length (or (bridle-question-diff question) (bridle-get-string wanted :code)))
                 (min bridle-shown-characters 4000))
              (not (invisible-p (line-end-position)))))))

(defun bridle-deny ()
  "Deny what the question at point is for."
  (interactive)
  (let ((question (bridle-approve--at-point)))
    (bridle-approve--answer question 'deny)
    (bridle-approve--after question "Denied")))

(defun bridle-approve--after (question word)
  "Say WORD about QUESTION and leave its buffer."
  (when bridle-approve--question (quit-window))
  (message "%s: %s" word (bridle-text-line (bridle-question-text question) 60)))

(defun bridle-always (scope duration)
  "Allow the question at point, and what SCOPE says for DURATION without asking.
What that would be is shown first."
  (interactive (bridle-approve--read-scope (bridle-approve--at-point)))
  (let ((question (bridle-approve--at-point)))
    (unless (string-match-p "\\`[0-9]+[mhd]\\'" duration)
      (user-error "Not a time: %s; expected 30m, 12h or 7d" duration))
    (unless (assoc scope (bridle-question-scopes question))
      (user-error "There is no scope %s for this question" scope))
    (message "Asking what that would allow...")
    (bridle-session-preview-grant
     question scope duration
     (lambda (is-known text) (bridle-approve--preview question scope duration is-known text)))))

(defun bridle-approve--read-scope (question)
  "Read a scope of QUESTION and a time, as a list."
  (when (eq 'local (bridle-question-kind question))
    (user-error "This editor asks each time; there is no always"))
  (let* ((scopes (or (bridle-question-scopes question)
                     (user-error "This can be allowed only once, or you are no owner")))
         (completion-extra-properties
          (list :annotation-function
                (lambda (word)
                  (concat "  " (bridle-text-line (or (cadr (assoc word scopes)) "") 120))))))
    (list (completing-read "Always allow: " (mapcar #'car scopes) nil t nil nil (caar scopes))
          (read-string "For how long (30m, 12h, 7d): " nil nil "7d"))))

(defvar bridle-grant-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map "\C-c\C-c" #'bridle-grant)
    map)
  "Keys of the preview of a grant.")

(define-derived-mode bridle-grant-mode special-mode "Grant"
  "What would be allowed from now on.
\\{bridle-grant-mode-map}"
  (setq-local bidi-paragraph-direction 'left-to-right))

(defun bridle-approve--preview (question scope duration is-known text)
  "Show TEXT: what allowing QUESTION by SCOPE for DURATION means.
IS-KNOWN is nil if it cannot be done."
  (with-current-buffer (get-buffer-create "*bridle grant*")
    (bridle-grant-mode)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (if is-known
                  (format "Scope %s for %s.  %s\n\n" scope duration
                          (substitute-command-keys
                           "\\<bridle-grant-mode-map>\\[bridle-grant] allows it, \\[quit-window] leaves."))
                "This cannot be allowed for longer:\n\n")
              (bridle-text--lines text) "\n")
      (goto-char (point-min)))
    (setq bridle-approve--grant (and is-known (list question scope duration)))
    (display-buffer (current-buffer))))

(defun bridle-grant ()
  "Allow what this buffer shows from now on."
  (interactive)
  (pcase bridle-approve--grant
    (`(,question ,scope ,duration)
     (setq bridle-approve--grant nil)
     (bridle-session-grant
      question scope duration
      (lambda (is-done text)
        (when (and is-done (eq 'elsewhere (bridle-question-kind question)))
          (bridle-approve--gone question))
        (message "%s: %s" (if is-done "Allowed from now on" "Not allowed") (bridle-text-line text 200))))
     (quit-window))
    (_ (user-error "Nothing to allow here"))))

(defvar-local bridle-approve--session nil "The session that this list came from.")

(define-derived-mode bridle-grants-mode tabulated-list-mode "Grants"
  "What the daemon does without asking.
\\{bridle-grants-mode-map}"
  (setq tabulated-list-format [("Until" 14 t) ("Allows" 0 nil)]
        tabulated-list-padding 1)
  (setq-local bidi-paragraph-direction 'left-to-right
              revert-buffer-function (lambda (&rest _) (bridle-approve--ask-grants)))
  (tabulated-list-init-header))

(define-key bridle-grants-mode-map "k" #'bridle-revoke-grant)

;;;###autoload
(defun bridle-grants ()
  "List what the daemon does without asking."
  (interactive)
  (let ((session (or bridle-org-session (bridle-current-session))))
    (with-current-buffer (get-buffer-create "*bridle grants*")
      (bridle-grants-mode)
      (setq bridle-approve--session session tabulated-list-entries nil)
      (tabulated-list-print)
      (bridle-approve--ask-grants)
      (pop-to-buffer (current-buffer)))))

(defun bridle-approve--ask-grants ()
  "Have the grants of this list told."
  (let ((buffer (current-buffer)))
    (bridle-session-request
     bridle-approve--session :system '(:action :grants)
     (lambda (payload)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer (bridle-approve--show-grants payload)))))))

(defun bridle-approve--show-grants (payload)
  "Show the grants of PAYLOAD in this list."
  (if (equal "error" (bridle-get-word payload :status))
      (message "Grants are not told: %s" (bridle-text-line (or (bridle-get-string payload :message) "") 200))
    (setq tabulated-list-entries
          (cl-loop for grant in (bridle-get-list payload :grants) repeat 1000
                   for id = (bridle-get-string grant :grant)
                   for until = (bridle-get-integer grant :until)
                   when id collect
                   (list id (vector (cond ((bridle-get grant :expired) "over")
                                          (until (format-time-string "%d %b %R" until))
                                          (t ""))
                                    (bridle-text-line (or (bridle-get-string grant :sentence) id) 400)))))
    (tabulated-list-print t)
    (message "%d granted" (length tabulated-list-entries))))

(defun bridle-revoke-grant ()
  "Take back the grant on this line."
  (interactive)
  (let ((id (or (tabulated-list-get-id) (user-error "No grant here"))) (buffer (current-buffer)))
    (bridle-session-request
     bridle-approve--session :system `(:action :revoke-grant :grant ,id)
     (lambda (payload)
       (if (equal "success" (bridle-get-word payload :status))
           (message "It is asked for again")
         (message "Not taken back: %s" (bridle-text-line (or (bridle-get-string payload :message) "") 200)))
       (when (buffer-live-p buffer)
         (with-current-buffer buffer (bridle-approve--ask-grants)))))))

(defun bridle-why ()
  "Say why what is at point happened, or why it is asked for."
  (interactive)
  (let* ((question (ignore-errors (bridle-approve--at-point)))
         (session (if question (bridle-question-session question) bridle-org-session))
         (seq (or (get-text-property (point) 'bridle-seq)
                  (and question (bridle-approve--seq question)))))
    (unless (and session seq) (user-error "Nothing here has a reason in the record"))
    (message "Asking why...")
    (bridle-session-why
     session seq
     (lambda (is-known told)
       (bridle-approve--show-text
        "*bridle why*"
        (if is-known (bridle-approve--reasons told) (concat "This is not known here:\n\n" told)))))))

(defun bridle-approve--show-text (name text)
  "Show TEXT of the daemon in the buffer NAME."
  (with-current-buffer (get-buffer-create name)
    (special-mode)
    (setq-local bidi-paragraph-direction 'left-to-right)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (bridle-text--lines (car (bridle-text-head text 200000))) "\n")
      (goto-char (point-min)))
    (display-buffer (current-buffer))))

(defun bridle-approve--reasons (told)
  "Return what TOLD, the answer of the daemon, says about reasons."
  (let ((decisions (bridle-get-list told :decisions)) (answers (bridle-get-list told :answers)))
    (concat
     (format "Record %s, %s of session %s, %s, by %s\n\n"
             (bridle-get-name told :record) (bridle-get-name told :kind)
             (bridle-get-name told :session) (bridle-approve--time told) (bridle-get-name told :by))
     (if (or decisions answers) "" "No decision led to this: it is what somebody said.\n")
     (mapconcat
      #'cdr
      ;; In the order of the record, whoever spoke.
      (sort (append
             (mapcar (lambda (it) (cons (or (bridle-get-integer it :record) 0) (bridle-approve--decision it)))
                     decisions)
             (mapcar (lambda (it) (cons (or (bridle-get-integer it :record) 0) (bridle-approve--answered it)))
                     answers))
            (lambda (a b) (< (car a) (car b))))
      "\n"))))

(defun bridle-approve--time (plist)
  "Return the time that PLIST tells as `:at'."
  (let ((at (bridle-get-integer plist :at)))
    (if at (format-time-string "%F %T" (/ at 1000)) "at an unknown time")))

(defun bridle-approve--answered (answer)
  "Return what ANSWER, of a person to a question, says."
  (format "Record %s, %s: %s answered %s\n" (bridle-get-name answer :record)
          (bridle-approve--time answer) (bridle-get-name answer :by) (bridle-get-name answer :answer)))

(defun bridle-approve--decision (decision)
  "Return what DECISION says: verdict, rule, what was judged, policies."
  (concat
   (format "Record %s, %s: %s, %s to %s, proposed by %s\n" (bridle-get-name decision :record)
           (bridle-approve--time decision)
           (or (bridle-get-name decision :verdict) "no verdict")
           (or (bridle-get-name decision :action) "something")
           (or (bridle-get-name decision :target) "nobody")
           (or (bridle-get-name decision :by) "an unknown author"))
   (format "  reason: %s (rule %s)\n" (or (bridle-get-name decision :reason) "none")
           (or (bridle-get-name decision :rule) "none"))
   (mapconcat (lambda (key)
                (let ((value (bridle-get decision key)))
                  (if value (format "  %s: %s\n" (bridle-word key) (bridle-write value)) "")))
              '(:payload :facts) "")
   (mapconcat (lambda (policy)
                (format "\n%s: %s\n%s" (bridle-get-name policy :policy)
                        (or (bridle-get-string policy :title) "built in")
                        (mapconcat (lambda (line) (concat "  " line "\n"))
                                   (split-string (concat (or (bridle-get-string policy :prose) "") "\n"
                                                         (or (bridle-get-string policy :text) ""))
                                                 "\n" t)
                                   "")))
              (bridle-get-list decision :policies) "")))

(defun bridle-approve--seq (question)
  "Return the number of the event that asked QUESTION, or nil."
  (let ((buffer (bridle-session-buffer (bridle-question-session question))))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (save-excursion
          (goto-char (point-max))
          (let ((match (text-property-search-backward
                        'bridle-question (bridle-question-id question) t)))
            (and match (get-text-property (prop-match-beginning match) 'bridle-seq))))))))

(provide 'bridle-approve)
;;; bridle-approve.el ends here
