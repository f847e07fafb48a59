;;; bridle-subtree.el --- Ask about a heading, and have the answer below it  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Prompts from any Org file: the subtree or the region goes with the question, the drawer of the heading
;; names the session, so that the next question goes on there, and the answer becomes a child of the
;; heading or a comment.  It is put in when it comes, where the heading then is; a buffer that cannot be
;; changed is left alone, and the answer is in the transcript.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'org)
(require 'bridle-session)
(require 'bridle-text)
(require 'bridle-org)

(declare-function bridle-open "bridle" (name))
(declare-function bridle-default-session-name "bridle" ())
(declare-function bridle-current-session "bridle" ())

(defcustom bridle-answer-as 'child
  "What the answer to a question about a heading becomes."
  :group 'bridle
  :type '(choice (const :tag "A heading below" child)
                 (const :tag "A comment at the end" comment)
                 (const :tag "Nothing here; it is in the transcript" nil)))

(defconst bridle-subtree--property "BRIDLE_SESSION"
  "The property that names the session of a heading.")

(defconst bridle-subtree--longest 262144
  "Characters of a subtree that go with a question.")

;;;###autoload
(defun bridle-ask-subtree (text)
  "Ask TEXT about the subtree at point."
  (interactive (list (read-string "Ask about this subtree: ")))
  (unless (derived-mode-p 'org-mode) (user-error "Not an Org buffer"))
  (save-excursion
    (org-back-to-heading t)
    (let* ((marker (point-marker))
           (subtree (buffer-substring-no-properties
                     (point) (save-excursion (org-end-of-subtree t t) (point))))
           (name (bridle-subtree--session-name))
           (session (bridle-open name)))
      (when (> (length subtree) bridle-subtree--longest)
        (user-error "This subtree has %d characters; at most %d go with a question"
                    (length subtree) bridle-subtree--longest))
      (bridle-org-buffer session)
      (bridle-org-prompt session text
                         `(:context (:kind :subtree ,@(bridle-subtree--place) :text ,subtree))
                         (lambda (payload) (bridle-subtree--answer marker payload)))
      (message "Asked in session %s" name))))

(defun bridle-subtree--place ()
  "Return where the heading at point is, as a plist."
  `(,@(and buffer-file-name (list :file buffer-file-name))
    :outline ,(mapcar #'substring-no-properties (org-get-outline-path t))
    ,@(let ((id (org-entry-get (point) "ID"))) (and id (list :id id)))))

(defun bridle-subtree--session-name ()
  "Return the session of the heading at point; note a new one in its drawer."
  (let ((known (org-entry-get (point) bridle-subtree--property t)))
    (if (and known (string-match-p "\\`[-._[:alnum:]]\\{1,64\\}\\'" known))
        known
      (let ((name (format "%s-%s" (truncate-string-to-width (bridle-default-session-name) 40)
                          (bridle-wire-random-hex 4))))
        (unless buffer-read-only (org-entry-put (point) bridle-subtree--property name))
        name))))

(defun bridle-subtree--answer (marker payload)
  "Put the answer PAYLOAD below the heading at MARKER."
  (let ((buffer (marker-buffer marker))
        (text (or (bridle-get-string payload :text) (bridle-get-string payload :message) "")))
    (when (and bridle-answer-as buffer (not (string-blank-p text)))
      (with-current-buffer buffer
        (if (or buffer-read-only (not (derived-mode-p 'org-mode)))
            (message "The answer is in the transcript: this buffer cannot be changed")
          (save-excursion
            (save-restriction
              (widen)
              (goto-char marker)
              (if (not (ignore-errors (org-back-to-heading t)))
                  (message "The answer is in the transcript: its heading is gone")
                (bridle-subtree--insert text)
                (message "The answer is below %s" (bridle-text-line (org-get-heading t t t t) 60)))))))
      (set-marker marker nil))))

(defun bridle-subtree--insert (text)
  "Put the answer TEXT at the end of the subtree at point."
  (let ((level (org-outline-level)) (answer (bridle-text-org text)))
    (if (eq bridle-answer-as 'child)
        (progn
          (org-end-of-subtree t t)
          (unless (bolp) (insert "\n"))
          (insert (make-string (1+ level) ?*) (format-time-string " bridle [%F %a %R]\n") answer))
      (org-end-of-meta-data t)
      (if (re-search-forward "^\\*+ " nil t) (goto-char (match-beginning 0)) (goto-char (point-max)))
      (unless (bolp) (insert "\n"))
      (insert (mapconcat (lambda (line) (concat "# " line))
                         (split-string (string-trim-right answer) "\n") "\n")
              "\n"))))

;;;###autoload
(defun bridle-ask-region (from to text)
  "Ask TEXT about the text between FROM and TO."
  (interactive "r\nsAsk about the region: ")
  (let ((region (buffer-substring-no-properties from to)) (session (bridle-current-session)))
    (when (> (length region) bridle-subtree--longest)
      (user-error "The region has %d characters; at most %d go with a question"
                  (length region) bridle-subtree--longest))
    (bridle-org-prompt session text
                       `(:context (:kind :region ,@(if buffer-file-name (list :file buffer-file-name)
                                                     (list :buffer (buffer-name)))
                                   :line ,(line-number-at-pos from) :text ,region)))
    (display-buffer (bridle-org-buffer session))))

(provide 'bridle-subtree)
;;; bridle-subtree.el ends here
