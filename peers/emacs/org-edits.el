;;; org-edits.el --- What Emacs makes of changes of Org texts  -*- lexical-binding: t; -*-

;; Reads the cases of a file, forms of (NAME OPERATION LINE ARGUMENTS TEXT OPTIONS), lets Org carry each out, and adds a
;; line (NAME TEXT...) to the file OUT: the changed text, and for an archived subtree the archive; or (NAME refused).
;; OPTIONS is a plist: :now, the present as a timestamp; :todo, sequences of `org-todo-keywords'; :startup, words as of
;; #+STARTUP that hold for all files; :enforce, for `org-enforce-todo-dependencies'.
;;
;; Set otherwise than Org has it: tags are not moved to a column, values of properties are not padded, and archives get
;; no line on top.  All of these change bytes that nobody asked to change.
;;
;;   emacs -Q --batch -l peers/emacs/org-edits.el OUT CASES

;;; Code:

(require 'org)
(require 'org-archive)
(require 'org-clock)
(require 'org-habit)
(require 'org-refile)

(setq org-auto-align-tags nil
      org-tags-column 0
      org-property-format "%s %s"
      org-archive-file-header-format nil
      org-clock-persist nil
      org-clock-out-remove-zero-time-clocks nil
      org-log-done nil
      org-log-into-drawer nil
      org-refile-use-cache nil
      org-element-use-cache nil
      org-bookmark-names-plist nil
      enable-local-variables nil
      make-backup-files nil
      create-lockfiles nil
      inhibit-message t
      system-time-locale "C"
      kill-buffer-query-functions nil)
(set-time-zone-rule t)
(set-language-environment "UTF-8")

(defvar org-edits--now nil
  "The present, while a case is carried out.")

(defun org-edits--present (time)
  "Return TIME, or the present of the case."
  (or time org-edits--now))

;; The primitives take nil for the present, which no variable holds.
(advice-add 'current-time :around
            (lambda (real) (or org-edits--now (funcall real))))
(dolist (function '(decode-time float-time time-convert))
  (advice-add function :filter-args
              (lambda (arguments)
                (cons (org-edits--present (car arguments)) (cdr arguments)))))
(advice-add 'format-time-string :filter-args
            (lambda (arguments)
              (append (list (car arguments) (org-edits--present (nth 1 arguments)))
                      (nthcdr 2 arguments))))
(dolist (function '(time-less-p time-subtract time-add time-equal-p))
  (advice-add function :filter-args
              (lambda (arguments) (mapcar #'org-edits--present arguments))))
;; Some commands align tags whatever the settings are.
(advice-add 'org-align-tags :override #'ignore)
;; Whether to go on shifting a timestamp that is far back.
(advice-add 'y-or-n-p :override (lambda (&rest _) t))

(defun org-edits--time (stamp)
  "Return the time of STAMP."
  (org-time-string-to-time stamp))

(defun org-edits--plan (command stamp)
  "Plan with COMMAND for STAMP, or take the plan away."
  (if stamp (funcall command nil stamp) (funcall command '(4))))

(defun org-edits--closed (stamp)
  "Say that the entry was closed at STAMP, or that it was not."
  (if stamp
      (org-add-planning-info 'closed (org-edits--time stamp))
    (org-add-planning-info nil nil 'closed)))

(defun org-edits--archive (file time)
  "Archive the subtree at point, as if from FILE at TIME."
  (let ((org-edits--now (org-edits--time time)))
    (cl-letf (((symbol-function 'abbreviate-file-name) #'file-name-nondirectory))
      (ignore file)
      (org-archive-subtree))))

(defun org-edits--paste (level text)
  "Put TEXT behind the subtree at point, on LEVEL."
  (org-end-of-subtree t t)
  (unless (bolp) (insert "\n"))
  (org-paste-subtree level text))

(defun org-edits--note (note)
  "Finish the log that the command before has begun, with NOTE."
  (when (memq 'org-add-log-note post-command-hook)
    (org-add-log-note)
    (when (get-buffer "*Org Note*")
      (with-current-buffer "*Org Note*"
        (goto-char (point-max))
        (insert (or note ""))
        (org-store-log-note)))))

(defun org-edits--do (operation arguments)
  "Carry out OPERATION with ARGUMENTS at point."
  (pcase (cons operation arguments)
    (`(todo ,state . ,note)
     (org-todo (or state 'none))
     (org-edits--note (car note)))
    (`(priority ,letter) (org-priority (if letter (string-to-char letter) 'remove)))
    (`(title ,text) (org-edit-headline text))
    (`(tags . ,tags) (org-set-tags tags))
    (`(archive-tag) (org-toggle-archive-tag))
    (`(property ,key nil) (org-delete-property key))
    (`(property ,key ,value) (org-set-property key value))
    (`(scheduled ,stamp) (org-edits--plan #'org-schedule stamp) (org-edits--note nil))
    (`(deadline ,stamp) (org-edits--plan #'org-deadline stamp) (org-edits--note nil))
    (`(closed ,stamp) (org-edits--closed stamp))
    (`(checkbox) (org-toggle-checkbox))
    (`(clock-in ,now) (org-clock-in nil (org-edits--time now)))
    (`(clock-out ,began ,now)
     (org-clock-in nil (org-edits--time began))
     (org-clock-out nil t (org-edits--time now)))
    (`(move-up) (org-move-subtree-up))
    (`(cut) (org-cut-subtree))
    (`(insert ,text) (org-edits--paste (org-current-level) text))
    (`(append ,text) (org-edits--paste (1+ (org-current-level)) text))
    (`(refile ,line)
     (let ((target (save-excursion (goto-char (point-min)) (forward-line (1- line)) (point))))
       (org-refile nil nil (list "target" buffer-file-name nil target))
       (org-edits--note nil)))
    (`(archive ,file ,time) (org-edits--archive file time))))

(defun org-edits--text ()
  "Return the text of the buffer as its file would have it."
  (let ((text (buffer-substring-no-properties (point-min) (point-max))))
    (if (eq (coding-system-eol-type buffer-file-coding-system) 1)
        (replace-regexp-in-string "\n" "\r\n" text t t)
      text)))

(defun org-edits--setup (options)
  "Set the variables of Org by OPTIONS, and the others as they were."
  (setq-default org-todo-keywords
                (mapcar (lambda (sequence) (cons 'sequence (split-string sequence)))
                        (or (plist-get options :todo) '("TODO DONE")))
                org-log-done nil
                org-log-repeat 'time
                org-log-into-drawer nil
                org-log-reschedule nil
                org-log-redeadline nil
                org-log-refile nil
                org-log-states-order-reversed t)
  (dolist (word (split-string (or (plist-get options :startup) "")))
    (pcase (assoc word org-startup-options)
      (`(,_ ,variable ,value . ,_) (set-default variable value))))
  (setq org-enforce-todo-dependencies (plist-get options :enforce)
        org-blocker-hook
        (and org-enforce-todo-dependencies '(org-block-todo-from-children-or-siblings-or-parent))
        org-edits--now
        (org-edits--time (or (plist-get options :now) "[2026-11-15 Sun 10:00]"))
        org-log-setup nil
        post-command-hook nil))

(defun org-edits--case (name operation line arguments text &optional options)
  "Return what NAME gives: OPERATION with ARGUMENTS at LINE of TEXT, by OPTIONS."
  (let* ((folder (make-temp-file "org-edits" t))
         (file (expand-file-name "notes.org" folder))
         (archive (concat file "_archive"))
         (org-edits--now nil))
    (unwind-protect
        (condition-case nil
            (progn
              (org-edits--setup options)
              (let ((coding-system-for-write 'utf-8-unix))
                (with-temp-file file (insert text)))
              (when (eq operation 'archive)
                (with-temp-file archive (insert "* before\n")))
              (with-current-buffer (find-file-noselect file)
                (unwind-protect
                    (progn
                      (set-window-buffer nil (current-buffer))
                      (org-show-all)
                      (goto-char (point-min))
                      (forward-line (1- line))
                      (org-edits--do operation arguments)
                      (append
                       (list name (org-edits--text))
                       (and (eq operation 'archive)
                            (with-current-buffer (find-buffer-visiting archive)
                              (prog1 (list (org-edits--text))
                                (set-buffer-modified-p nil)
                                (kill-buffer))))))
                  (when (org-clocking-p)
                    (org-clock-cancel))
                  (set-buffer-modified-p nil)
                  (kill-buffer))))
          (error (list name 'refused)))
      (when (get-buffer "*Org Note*")
        (kill-buffer "*Org Note*"))
      (delete-directory folder t))))

(let ((out (pop command-line-args-left))
      (cases (pop command-line-args-left))
      (print-escape-newlines t)
      (lines nil))
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-unix))
      (insert-file-contents cases))
    (goto-char (point-min))
    (condition-case nil
        (while t
          (push (replace-regexp-in-string
                 "\r" "\\\\r" (prin1-to-string (apply #'org-edits--case (read (current-buffer)))))
                lines))
      (end-of-file nil)))
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region (concat (mapconcat #'identity (nreverse lines) "\n") "\n") nil out nil 'silent)))

;;; org-edits.el ends here
