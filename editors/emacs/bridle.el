;;; bridle.el --- An agent that asks before it acts  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The bridle authors

;; Author: The bridle authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, outlines, convenience
;; URL: https://example.org/bridle
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; `M-x bridle' opens a session with a bridle daemon, and starts one if none runs.  The session is an Org
;; buffer made of the daemon's record; write below the heading Prompt and send with C-c C-c.
;; `M-x bridle-approvals' lists what waits for a yes, `M-x bridle-ask-subtree' asks about a heading of any
;; Org file, `M-x bridle-sense-mode' tells the daemon what is edited.  The manual is in bridle.texi.
;;
;; Nothing in this package waits for the daemon: Emacs stays as quick as it is, whatever the daemon does.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'bridle-session)
(require 'bridle-action)
(require 'bridle-sensor)
(require 'bridle-org)
(require 'bridle-approve)
(require 'bridle-memory)
(require 'bridle-subtree)

(defcustom bridle-address nil
  "Where the daemon is: HOST:PORT, the path of a socket, or nil for the usual."
  :group 'bridle
  :type '(choice (const :tag "The usual socket" nil) string))

(defcustom bridle-start-daemon t
  "Whether a daemon is started when none runs at the usual socket."
  :group 'bridle
  :type 'boolean)

(defcustom bridle-key-id nil
  "Id of the key that signs frames, nil for none.
The secret is looked up by auth-source: machine is the host of
`bridle-address', login this id, port the port."
  :group 'bridle
  :type '(choice (const :tag "Frames are not signed" nil) string))

(defvar bridle--client-id nil "The uuid of this Emacs, the same after a restart.")
(defvar bridle--daemon-started-at 0 "When a daemon was started from here.")

;;;; Sessions

(defun bridle--address ()
  "Return where the daemon is."
  (or bridle-address
      (let ((said (getenv "BRIDLE_ADDR")))
        (and said (not (string-empty-p said)) (string-remove-prefix "unix:" said)))
      (bridle--usual-socket)))

(defun bridle--usual-socket ()
  "Return the path of the socket that a daemon makes by default."
  (let ((runtime (getenv "XDG_RUNTIME_DIR")) (state (getenv "XDG_STATE_HOME")))
    (if (and runtime (not (string-empty-p runtime)))
        (expand-file-name "bridle/bridle.sock" runtime)
      (expand-file-name "bridle/bridle.sock"
                        (if (and state (not (string-empty-p state))) state "~/.local/state")))))

(defun bridle--client-id ()
  "Return the uuid of this Emacs; it is kept in a file."
  (or bridle--client-id
      (let ((file (locate-user-emacs-file "bridle-client")))
        (setq bridle--client-id
              (or (and (file-readable-p file)
                       (with-temp-buffer
                         (insert-file-contents file)
                         (and (looking-at "[-0-9a-f]\\{36\\}") (match-string 0))))
                  (let* ((hex (bridle-wire-random-hex 16))
                         (uuid (format "%s-%s-4%s-8%s-%s" (substring hex 0 8) (substring hex 8 12)
                                       (substring hex 13 16) (substring hex 17 20)
                                       (substring hex 20 32))))
                    (ignore-errors
                      (make-directory (file-name-directory file) t)
                      (with-temp-file file (insert uuid "\n")))
                    uuid))))))

(declare-function auth-source-search "auth-source" (&rest spec))

(defun bridle--secret (address)
  "Return the secret that signs frames to ADDRESS, or nil."
  (when (and bridle-key-id (string-match "\\`\\(.+\\):\\([0-9]+\\)\\'" address))
    (require 'auth-source)
    (let* ((host (match-string 1 address)) (port (match-string 2 address))
           (found (car (auth-source-search :host host :port port :user bridle-key-id :max 1)))
           (secret (plist-get found :secret)))
      (unless secret
        (user-error "Auth-source has no secret for machine %s port %s login %s" host port bridle-key-id))
      (encode-coding-string (if (functionp secret) (funcall secret) secret) 'utf-8-unix))))

(declare-function project-root "project" (project))

(defun bridle-default-session-name ()
  "Return the session that belongs to this buffer: that of its project."
  (let* ((project (and (fboundp 'project-current) (not (file-remote-p default-directory))
                       (project-current)))
         (name (and project (file-name-nondirectory (directory-file-name (project-root project)))))
         (name (and name (replace-regexp-in-string "[^-._A-Za-z0-9]+" "-" name))))
    (if (and name (string-match-p "[A-Za-z0-9]" name))
        (substring name 0 (min 48 (length name)))
      "main")))

(defun bridle-open (name)
  "Return the session NAME, opened if it is not."
  (unless (string-match-p "\\`[-._A-Za-z0-9]\\{1,64\\}\\'" name)
    (user-error "Not the name of a session: %s" name))
  (setq bridle-session-request-function #'bridle-action-perform
        bridle-session-actuators bridle-action-offers
        bridle-sensor-session-function #'bridle--session-of-buffer)
  (or (bridle-session-find name)
      (let ((address (bridle--address)))
        (bridle-session-open name address
                             :client-id (bridle--client-id)
                             :key-id bridle-key-id :secret (bridle--secret address)
                             :listener #'bridle--listen))))

(defun bridle-current-session ()
  "Return the session that is meant here, opened with its transcript."
  (let ((session (or bridle-org-session (bridle-open (bridle-default-session-name)))))
    (bridle-org-buffer session)
    session))

(defun bridle--session-of-buffer ()
  "Return the session that hears about this buffer, or nil: none is opened."
  (or (bridle-session-find (bridle-default-session-name))
      (car (last bridle-sessions))))

(defun bridle--listen (session what data)
  "Take note that WHAT happened in SESSION, with DATA."
  (pcase what
    ('down (bridle--maybe-start-daemon session))
    ((and 'question (guard (bridle-memory-is-capture data)))
     (when (bridle-session-is-attached session) (bridle-question-give-answer data 'allow)))
    ('question
     (when (or (eq 'local (bridle-question-kind data)) (bridle-session-is-attached session))
       (message "%s waits for a yes: M-x bridle-approvals" (bridle-session-name session))))))

(defun bridle--maybe-start-daemon (session)
  "Start a daemon if none runs at the usual socket and SESSION wants one."
  (let ((address (bridle-session-address session)))
    (when (and bridle-start-daemon
               (equal address (bridle--usual-socket))
               (> (- (float-time) bridle--daemon-started-at) 30)
               (executable-find bridle-program))
      (setq bridle--daemon-started-at (float-time))
      (message "No daemon at %s; starting one" address)
      (let ((log (expand-file-name (locate-user-emacs-file "bridle-daemon.log"))) (default-directory (expand-file-name "~/")))
        (make-directory (file-name-directory log) t)
        ;; Not waited for, and not a child that ends with Emacs; what it says is kept in case it ends.
        (call-process "/bin/sh" nil 0 nil "-c" "umask 077; exec \"$0\" up >\"$1\" 2>&1" bridle-program log)
        (run-at-time 4 nil #'bridle--tell-of-daemon session log)))))

(defun bridle--tell-of-daemon (session log)
  "Say what LOG has if the daemon that was started for SESSION is not there."
  (unless (or (bridle-session-is-attached session) (not (memq session bridle-sessions)))
    (let ((why (with-temp-buffer
                 (ignore-errors (insert-file-contents log nil 0 4000))
                 (goto-char (point-min))
                 (if (re-search-forward "^\\(?:error\\|.*ERROR\\).*$" nil t) (match-string 0) ""))))
      (message "%s" (if (string-empty-p why)
                        (format "The daemon is not there yet; its log is %s" log)
                      (format "The daemon did not start: %s; all of it is in %s"
                              (bridle-text-line why 200) log))))))

;;;; Commands

;;;###autoload
(defun bridle (&optional name)
  "Open the session of this project; with a prefix argument ask for its NAME."
  (interactive (list (and current-prefix-arg
                          (completing-read "Session: " (mapcar #'bridle-session-name bridle-sessions)
                                           nil nil nil nil (bridle-default-session-name)))))
  (let* ((session (bridle-open (or name (bridle-default-session-name))))
         (buffer (bridle-org-buffer session)))
    (pop-to-buffer buffer)
    (goto-char (point-max))
    (message "%s" (substitute-command-keys
                   "Write below Prompt; \\<bridle-mode-map>\\[bridle-org-send] sends, \\[bridle-menu] is the menu"))
    session))

;;;###autoload
(defun bridle-ask (text)
  "Say TEXT in the session of this project."
  (interactive "sAsk: ")
  (let ((session (bridle-current-session)))
    (bridle-org-prompt session text)
    (display-buffer (bridle-org-buffer session))))

(defun bridle-interrupt ()
  "Have the present turn given up."
  (interactive)
  (bridle-sensor-interrupt (bridle-current-session))
  (message "Interrupted"))

(defun bridle-send-buffer ()
  "Tell the daemon all of this buffer: its AST if it is short Org, else its text."
  (interactive)
  (bridle-sensor-send-buffer (bridle-current-session))
  (message "Sent %s" (buffer-name)))

(defun bridle-reconnect ()
  "Connect all sessions now that wait to; start a daemon if none runs."
  (interactive)
  (setq bridle--daemon-started-at 0)
  (dolist (session bridle-sessions)
    (bridle-wire-retry-now (bridle-session-wire session))))

(defun bridle-leave ()
  "Leave the session of this transcript; it stays in the record."
  (interactive)
  (unless bridle-org-session (user-error "Not in a transcript"))
  (kill-buffer))

(defun bridle-events ()
  "Show the heads of the messages that came and went."
  (interactive)
  (display-buffer (bridle-wire-events-buffer)))

(defun bridle-show-rest (number)
  "Show the long text NUMBER of this transcript in full."
  (interactive "nLong text number: ")
  (let ((text (or (alist-get number bridle-org--long)
                  (user-error "That text is not kept any more; `bridle log' has it"))))
    (with-current-buffer (get-buffer-create (format "*bridle text %d*" number))
      (text-mode)
      (setq-local bidi-paragraph-direction 'left-to-right)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (bridle-text--lines text) "\n")
        (goto-char (point-min)))
      (read-only-mode 1)
      (pop-to-buffer (current-buffer)))))

;;;; Completion

(defvar bridle--complete-timer nil "The timer that asks for candidates.")
(defvar bridle--complete-asked nil "The prefix that was asked for last.")

;;;###autoload
(defun bridle-completion-at-point ()
  "Complete with what the daemon gave for the text before point.
Only what is here already is offered; more is asked for meanwhile."
  (let* ((to (point))
         (from (save-excursion (skip-syntax-backward "w_") (point)))
         (prefix (buffer-substring-no-properties from to)))
    (when (>= (length prefix) 2)
      (bridle--ask-candidates prefix)
      (let ((candidates (bridle-action-candidates prefix)))
        (when candidates (list from to candidates :exclusive 'no))))))

(defun bridle--ask-candidates (prefix)
  "Have the daemon asked for candidates for PREFIX when Emacs is idle."
  (let ((session (bridle--session-of-buffer)))
    (when (and session (not (equal prefix bridle--complete-asked)))
      (setq bridle--complete-asked prefix)
      (when (timerp bridle--complete-timer) (cancel-timer bridle--complete-timer))
      (setq bridle--complete-timer
            (run-with-idle-timer 0.2 nil #'bridle--refresh-candidates session prefix)))))

(defvar bridle--complete-since nil "When the question that waits was asked, nil if none waits.")

(defconst bridle--complete-seconds 10
  "Seconds after which another question is asked, whatever became of the last.")

(defun bridle--refresh-candidates (session prefix)
  "Ask SESSION for candidates for PREFIX: of a quick model, or words of the memory."
  ;; One question at a time: who types goes on typing, and a model costs money.
  (when (and (bridle-session-is-attached session)
             (or (null bridle--complete-since)
                 (> (- (float-time) bridle--complete-since) bridle--complete-seconds)))
    (setq bridle--complete-since (float-time))
    (bridle-session-request
     session :context `(:action :complete :prefix ,prefix)
     (lambda (payload)
       (setq bridle--complete-since nil)
       (bridle-action-add-candidates
        prefix (seq-filter #'stringp (bridle-get-list payload :suggestions)))
       ;; What was typed meanwhile is what is wanted now.
       (unless (equal prefix bridle--complete-asked)
         (bridle--refresh-candidates session bridle--complete-asked))))))

;;;; Bookmarks

(defun bridle--bookmark ()
  "Return a bookmark of this transcript."
  `(,(format "bridle: %s" (bridle-session-name bridle-org-session))
    (session . ,(bridle-session-name bridle-org-session))
    (handler . bridle-bookmark-jump)))

;;;###autoload
(defun bridle-bookmark-jump (bookmark)
  "Open the session of BOOKMARK."
  (let ((name (alist-get 'session (cdr bookmark))))
    (unless (stringp name) (user-error "That bookmark names no session"))
    (bridle name)))

(add-hook 'bridle-mode-hook
          (lambda () (setq-local bookmark-make-record-function #'bridle--bookmark)))

;;;; Keys

(define-key bridle-mode-map "\C-c\C-k" #'bridle-interrupt)
(define-key bridle-mode-map "\C-c\C-a" #'bridle-approvals)
(define-key bridle-mode-map "\C-c\C-y" #'bridle-why)
(define-key bridle-mode-map "\C-c\C-u" #'bridle-undo-change)
(define-key bridle-mode-map "\C-c\C-s" #'bridle-search)
(define-key bridle-mode-map "\C-c\C-q" #'bridle-leave)
(define-key bridle-mode-map "\C-c\C-j" #'bridle-menu)

(defconst bridle--commands
  '(("s" bridle "Session") ("a" bridle-ask "Ask") ("t" bridle-ask-subtree "Ask about subtree")
    ("r" bridle-ask-region "Ask about region") ("k" bridle-interrupt "Interrupt")
    ("q" bridle-approvals "Approvals") ("l" bridle-grants "Grants") ("y" bridle-why "Why") ("u" bridle-undo-change "Undo change")
    ("f" bridle-search "Search memory") ("g" bridle-agenda "Agenda") ("c" bridle-capture "Capture")
    ("b" bridle-send-buffer "Send buffer") ("m" bridle-sense-mode "Tell what is edited")
    ("n" bridle-reconnect "Connect now") ("e" bridle-events "Events"))
  "Keys, commands and names of the menu.")

;;;###autoload
(defun bridle-menu ()
  "Choose a command of bridle, by a transient menu where there is one."
  (interactive)
  (if (require 'transient nil t)
      (progn (unless (fboundp 'bridle-transient) (bridle--define-transient))
             (call-interactively 'bridle-transient))
    (call-interactively
     (intern (completing-read "bridle: " (mapcar #'symbol-name (mapcar #'cadr bridle--commands))
                              nil t)))))

(defun bridle--define-transient ()
  "Define the menu, once transient is there."
  (let ((suffixes (mapcar (lambda (entry) (list (nth 0 entry) (nth 2 entry) (nth 1 entry)))
                          bridle--commands)))
    ;; The macro of an optional package: expanded when it is used.
    (eval `(,(intern "transient-define-prefix") bridle-transient ()
            "Commands of bridle."
            [["Talk" ,@(cl-subseq suffixes 0 5)]
             ["Decide" ,@(cl-subseq suffixes 5 9)]
             ["Memory" ,@(cl-subseq suffixes 9 12)]
             ["Editor" ,@(cl-subseq suffixes 12)]])
          t)))

(provide 'bridle)
;;; bridle.el ends here
