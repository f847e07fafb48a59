;;; bridle-memory.el --- Search, agenda, capture and undo over the memory  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Commands that ask the daemon what the user's Org files hold, and have it change them or take a change
;; back.  Answers come when they come, in a list; a file is visited by a key on its line and never else.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'tabulated-list)
(require 'bridle-session)
(require 'bridle-text)
(require 'bridle-org)

(declare-function bridle-current-session "bridle" ())

(defcustom bridle-capture-file "inbox.org"
  "The file of the memory that captures go to."
  :group 'bridle
  :type 'string)

(defvar-local bridle-memory--session nil "The session that this list came from.")
(defvar-local bridle-memory--query nil "The question that this list answers.")
(defvar-local bridle-memory--undo nil "What the preview in this buffer is of: session, target, record.")

(defvar bridle-memory-map
  (let ((map (make-sparse-keymap)))
    (define-key map "\r" #'bridle-memory-visit)
    map)
  "Keys on a heading of the memory.")

(defun bridle-memory--set-up (columns)
  "Give this list COLUMNS, and what all lists of the memory have."
  (setq tabulated-list-format columns
        tabulated-list-padding 1)
  (setq-local bidi-paragraph-direction 'left-to-right
              revert-buffer-function (lambda (&rest _) (bridle-memory--ask)))
  (tabulated-list-init-header))

(define-derived-mode bridle-memory-mode tabulated-list-mode "Memory"
  "Headings of the memory.
\\{bridle-memory-mode-map}"
  (bridle-memory--set-up [("State" 8 t) ("Heading" 44 t) ("File" 24 t) ("Text" 0 nil)]))

(define-derived-mode bridle-agenda-mode tabulated-list-mode "Agenda"
  "What is planned, overdue or due soon in the memory, day by day.
\\{bridle-agenda-mode-map}"
  (bridle-memory--set-up [("Day" 14 t) ("Time" 11 nil) ("When" 18 nil) ("State" 6 t)
                          ("Heading" 32 nil) ("File" 0 t)]))

(dolist (map (list bridle-memory-mode-map bridle-agenda-mode-map))
  (set-keymap-parent map (make-composed-keymap bridle-memory-map tabulated-list-mode-map)))

;;;###autoload
(defun bridle-search (text)
  "Search the memory for TEXT."
  (interactive "sSearch the memory: ")
  (bridle-memory--list "*bridle search*" #'bridle-memory-mode `(:action :query :text ,text :limit 100)))

;;;###autoload
(defun bridle-agenda (days)
  "Show what is planned, overdue or due in the memory, today and in the next DAYS."
  (interactive "P")
  (let ((days (if days (prefix-numeric-value days) 7)))
    (bridle-memory--list "*bridle agenda*" #'bridle-agenda-mode
                         `(:action :agenda :from ,(format-time-string "%F")
                           :to ,(format-time-string "%F" (time-add nil (* (1- (max 1 days)) 86400)))
                           :now ,(format-time-string "%F %R")))))

(defun bridle-memory--list (name mode query)
  "Show the answer to QUERY in the buffer NAME, a list of MODE."
  (let ((session (bridle-current-session)))
    (with-current-buffer (get-buffer-create name)
      (funcall mode)
      (setq bridle-memory--session session bridle-memory--query query
            tabulated-list-entries nil
            mode-line-process " asking")
      (tabulated-list-print)
      (bridle-memory--ask)
      (pop-to-buffer (current-buffer)))))

(defun bridle-memory--ask ()
  "Ask the question of this list."
  (let ((buffer (current-buffer)))
    (bridle-session-request
     bridle-memory--session :context bridle-memory--query
     (lambda (payload)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer (bridle-memory--show payload)))))))

(defun bridle-memory--show (payload)
  "Show the objects or entries of PAYLOAD in this list."
  (setq mode-line-process nil)
  (if (equal "error" (bridle-get-word payload :status))
      (message "The memory does not answer: %s"
               (bridle-text-line (or (bridle-get-string payload :message) "") 200))
    (let ((is-agenda (derived-mode-p 'bridle-agenda-mode)))
      (setq tabulated-list-entries
            (cl-loop for object in (bridle-get-list payload (if is-agenda :entries :objects)) repeat 1000
                     collect (list object (if is-agenda (bridle-memory--entry object)
                                            (bridle-memory--object object)))))
      (tabulated-list-print t)
      (message "%d found%s" (length tabulated-list-entries)
               (if (bridle-get payload :cut) "; there is more, ask for fewer days" "")))))

(defun bridle-memory--cell (object key width)
  "Return what KEY of OBJECT says as a cell of WIDTH."
  (bridle-text-line (or (bridle-get-name object key) "") width))

(defun bridle-memory--object (object)
  "Return the cells of OBJECT, a heading or a file."
  (vector (bridle-memory--cell object :todo 12) (bridle-memory--cell object :title 80)
          (bridle-memory--cell object :path 60) (bridle-memory--cell object :snippet 120)))

(defun bridle-memory--entry (entry)
  "Return the cells of ENTRY of an agenda."
  (let ((time (bridle-get-string entry :time)) (until (bridle-get-string entry :until)))
    (vector (bridle-memory--day (bridle-get-string entry :day))
            (bridle-text-line (concat time (and time until "-") until) 12)
            (bridle-memory--standing entry)
            (bridle-memory--cell entry :todo 12)
            (bridle-text-line (concat (let ((priority (bridle-get-string entry :priority)))
                                        (and priority (format "[#%s] " priority)))
                                      (bridle-get-string entry :title))
                              80)
            (bridle-memory--cell entry :path 60))))

(defun bridle-memory--day (day)
  "Return DAY, such as 2026-11-15, with its weekday."
  (if (and day (string-match "\\`\\([0-9]\\{4\\}\\)-\\([0-9][0-9]\\)-\\([0-9][0-9]\\)\\'" day))
      (let ((number (lambda (group) (string-to-number (match-string group day)))))
        (format-time-string "%F %a" (encode-time (list 0 0 12 (funcall number 3) (funcall number 2)
                                                       (funcall number 1) nil -1 nil))))
    (bridle-text-line (or day "") 14)))

(defun bridle-memory--standing (entry)
  "Return how ENTRY of an agenda stands, in words."
  (let ((kind (bridle-text-line (or (bridle-get-word entry :kind) "") 12))
        (days (or (bridle-get-integer entry :days) 0)))
    (pcase (bridle-get-word entry :standing)
      ("overdue" (format "%s %d d ago" kind days))
      ("upcoming" (format "due in %d d" days))
      (_ (if (equal kind "active") "" kind)))))

(defun bridle-memory-visit ()
  "Visit the heading on this line."
  (interactive)
  (let* ((object (or (tabulated-list-get-id) (user-error "No heading here")))
         (path (or (bridle-get-string object :path) (user-error "It has no file")))
         (line (bridle-get-integer object :line)))
    (bridle-session-request
     bridle-memory--session :context `(:action :resolve-path :path ,path)
     (lambda (payload) (bridle-memory--go path (bridle-get-string payload :path) line)))))

(defun bridle-memory--go (shown path line)
  "Visit PATH, which must be the file that was SHOWN, at LINE."
  (cond
   ((not (and path (bridle-text-local-path-p path)
              (string-suffix-p (concat "/" (string-remove-prefix "/" shown)) path)
              (string-match-p "\\.org\\(?:_archive\\)?\\'" path)))
    (message "The daemon named another file than the one shown; it is not visited"))
   ((not (file-exists-p path)) (message "There is no file %s" path))
   (t
    (let ((enable-local-variables :safe) (enable-local-eval nil))
      (pop-to-buffer (find-file-noselect path)))
    (when line
      (goto-char (point-min))
      (forward-line (1- line))
      (when (derived-mode-p 'org-mode) (ignore-errors (org-show-context 'link-search)))))))

;;;; Capture

(defvar bridle-memory--captures nil "Texts of captures that are not answered yet.")

;;;###autoload
(defun bridle-capture (title &optional body)
  "Put a heading TITLE with BODY, the region if there is one, into the memory."
  (interactive
   (list (read-string "Capture: ")
         (and (use-region-p) (buffer-substring-no-properties (region-beginning) (region-end)))))
  (when (string-blank-p title) (user-error "Nothing to capture"))
  (let ((text (concat "* TODO " (string-trim title) "\n" (format-time-string "[%F %a %R]\n")
                      (and body (replace-regexp-in-string "^\\*" " *" (concat (string-trim body) "\n"))))))
    (push text bridle-memory--captures)
    (bridle-session-request
     (bridle-current-session) :memory
     `(:action :append-subtree :path ,bridle-capture-file :text ,text)
     (lambda (payload)
       (setq bridle-memory--captures (delete text bridle-memory--captures))
       (bridle-memory--report (format "Captured in %s" bridle-capture-file) payload)))
    (message "Sent")))

(defun bridle-memory-is-capture (question)
  "Whether QUESTION is for nothing but a text that was just captured here.
Whoever typed it has said yes: its diff only adds the lines of the text."
  (let* ((wanted (bridle-question-wanted question)) (text (bridle-get-string wanted :text))
         (diff (bridle-question-diff question)) (body (and diff (string-match "^@@.*$" diff) (match-end 0))))
    (and (eq 'guard (bridle-question-kind question))
         (equal "memory" (bridle-question-target question))
         (equal "append-subtree" (bridle-get-word wanted :action))
         (string-suffix-p (concat "/" bridle-capture-file) (or (bridle-get-string wanted :path) ""))
         (member text bridle-memory--captures)
         body
         (equal (split-string text "\n" t)
                (cl-loop for line in (split-string (substring diff body) "\n" t)
                         unless (string-prefix-p " " line)
                         collect (if (string-prefix-p "+" line) (substring line 1) 'taken-away))))))

(defun bridle-memory--report (word payload)
  "Say WORD, or what went wrong, for the answer PAYLOAD."
  (if (equal "success" (bridle-get-word payload :status))
      (message "%s" word)
    (message "%s: %s" (if (equal "pending-approval" (bridle-get-word payload :status))
                          "It waits for a yes" "Not done")
             (bridle-text-line (or (bridle-get-string payload :message)
                                   (bridle-get-word payload :code) "")
                               200))))

;;;; Undo

(defvar bridle-undo-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map special-mode-map)
    (define-key map "\C-c\C-c" #'bridle-undo-now)
    map)
  "Keys of the preview of an undo.")

(define-derived-mode bridle-undo-mode special-mode "Undo"
  "A change that would be taken back.
\\{bridle-undo-mode-map}"
  (setq-local bidi-paragraph-direction 'left-to-right))

;;;###autoload
(defun bridle-undo-change ()
  "Show the change of files at point of this transcript, to be taken back.
That is a change of the memory, or what a turn wrote into a project."
  (interactive)
  (let ((session (or bridle-org-session (user-error "Not in a transcript")))
        (effect (or (get-text-property (point) 'bridle-effect) (user-error "No change here"))))
    (message "Asking what %s changed..." (bridle-text-line effect 80))
    (bridle-session-find-act
     session effect
     (lambda (act text)
       (if (not (bridle-memory--can-undo act))
           (message "That cannot be taken back: %s"
                    (bridle-text-line (if act "it changed no file" text) 120))
         (bridle-memory--show-undo session effect act))))))

(defun bridle-memory--can-undo (act)
  "Whether ACT, as the record tells it, changed files and can be taken back."
  (and act (bridle-get-integer act :intent)
       (equal "done" (bridle-get-word act :outcome))
       (pcase (bridle-get-word act :target)
         ("memory" (not (equal "snapshot" (bridle-get-word act :action))))
         ("stage" (member (bridle-get-word act :action) '("commit" "undo"))))))

(defun bridle-memory--show-undo (session effect act)
  "Show what ACT, the EFFECT of SESSION, changed, to be taken back."
  (let ((payload (bridle-get act :payload)))
    (with-current-buffer (get-buffer-create "*bridle undo*")
      (bridle-undo-mode)
      (setq bridle-memory--undo (list session (bridle-get-word act :target) (bridle-get-integer act :intent)))
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert (bridle-text-line (format "%s: %s of %s" effect (bridle-get-word act :action)
                                          (bridle-get-word act :target))
                                  120)
                (substitute-command-keys
                 ".  \\<bridle-undo-mode-map>\\[bridle-undo-now] takes it back, \\[quit-window] leaves it.\n\n"))
        (insert (bridle-text--lines
                 (or (bridle-get-string (bridle-get payload :prepared) :diff)
                     (bridle-get-string payload :diff)
                     "The record has no diff of it."))
                "\n")
        (goto-char (point-min)))
      (display-buffer (current-buffer)))))

(defun bridle-undo-now ()
  "Take back what this buffer shows, and keep what was written since."
  (interactive)
  (pcase bridle-memory--undo
    (`(,session ,target ,record)
     (setq bridle-memory--undo nil)
     (bridle-session-request
      session (if (equal target "stage") :stage :memory) `(:action :undo :record ,record)
      (lambda (payload) (bridle-memory--report "Taken back" payload)))
     (quit-window))
    (_ (user-error "Nothing to take back here"))))

(provide 'bridle-memory)
;;; bridle-memory.el ends here
