;;; org-edits.el --- What Emacs makes of changes of Org texts  -*- lexical-binding: t; -*-

;; Reads the cases of a file, forms of (NAME OPERATION LINE ARGUMENTS TEXT), lets Org carry each out, and adds a line
;; (NAME TEXT...) to the file OUT: the changed text, and for an archived subtree the archive; or (NAME refused).
;;
;; Set otherwise than Org has it: tags are not moved to a column, values of properties are not padded, and archives get
;; no line on top.  All of these change bytes that nobody asked to change.
;;
;;   emacs -Q --batch -l peers/emacs/org-edits.el OUT CASES

;;; Code:

(require 'org)
(require 'org-archive)
(require 'org-clock)
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
      kill-buffer-query-functions nil)
(set-time-zone-rule t)
(set-language-environment "UTF-8")

(defun org-edits--time (stamp)
  "Return the time of STAMP."
  (org-time-string-to-time stamp))

(defun org-edits--plan (command stamp)
  "Plan with COMMAND for STAMP, or take the plan away."
  (if stamp (funcall command nil (substring stamp 1 -1)) (funcall command '(4))))

(defun org-edits--archive (file time)
  "Archive the subtree at point, as if from FILE at TIME."
  (let ((real (symbol-function 'format-time-string)))
    (cl-letf (((symbol-function 'format-time-string)
               (lambda (format &rest rest)
                 (if (equal format (substring (cdr org-time-stamp-formats) 1 -1))
                     time
                   (apply real format rest))))
              ((symbol-function 'abbreviate-file-name) #'file-name-nondirectory))
      (ignore file)
      (org-archive-subtree))))

(defun org-edits--do (operation arguments)
  "Carry out OPERATION with ARGUMENTS at point."
  (pcase (cons operation arguments)
    (`(todo ,state) (org-todo (or state 'none)))
    (`(priority ,letter) (org-priority (if letter (string-to-char letter) 'remove)))
    (`(title ,text) (org-edit-headline text))
    (`(tags . ,tags) (org-set-tags tags))
    (`(archive-tag) (org-toggle-archive-tag))
    (`(property ,key nil) (org-delete-property key))
    (`(property ,key ,value) (org-set-property key value))
    (`(scheduled ,stamp) (org-edits--plan #'org-schedule stamp))
    (`(deadline ,stamp) (org-edits--plan #'org-deadline stamp))
    (`(checkbox) (org-toggle-checkbox))
    (`(clock-in ,now) (org-clock-in nil (org-edits--time now)))
    (`(clock-out ,began ,now)
     (org-clock-in nil (org-edits--time began))
     (org-clock-out nil t (org-edits--time now)))
    (`(move-up) (org-move-subtree-up))
    (`(cut) (org-cut-subtree))
    (`(refile ,line)
     (let ((target (save-excursion (goto-char (point-min)) (forward-line (1- line)) (point))))
       (org-refile nil nil (list "target" buffer-file-name nil target))))
    (`(archive ,file ,time) (org-edits--archive file time))))

(defun org-edits--case (name operation line arguments text)
  "Return what NAME gives: OPERATION with ARGUMENTS at LINE of TEXT."
  (let* ((folder (make-temp-file "org-edits" t))
         (file (expand-file-name "notes.org" folder))
         (archive (concat file "_archive")))
    (unwind-protect
        (condition-case nil
            (progn
              (with-temp-file file (insert text))
              (when (eq operation 'archive)
                (with-temp-file archive (insert "* before\n")))
              (with-current-buffer (find-file-noselect file)
                (unwind-protect
                    (progn
                      (goto-char (point-min))
                      (forward-line (1- line))
                      (org-edits--do operation arguments)
                      (append
                       (list name (buffer-substring-no-properties (point-min) (point-max)))
                       (and (eq operation 'archive)
                            (with-current-buffer (find-buffer-visiting archive)
                              (prog1 (list (buffer-substring-no-properties (point-min) (point-max)))
                                (set-buffer-modified-p nil)
                                (kill-buffer))))))
                  (when (org-clocking-p)
                    (org-clock-cancel))
                  (set-buffer-modified-p nil)
                  (kill-buffer))))
          (error (list name 'refused)))
      (delete-directory folder t))))

(let ((out (pop command-line-args-left))
      (cases (pop command-line-args-left))
      (print-escape-newlines t)
      (lines nil))
  (with-temp-buffer
    (insert-file-contents cases)
    (goto-char (point-min))
    (condition-case nil
        (while t
          (push (prin1-to-string (apply #'org-edits--case (read (current-buffer)))) lines))
      (end-of-file nil)))
  (write-region (concat (mapconcat #'identity (nreverse lines) "\n") "\n") nil out nil 'silent))

;;; org-edits.el ends here
