;;; bridle-memory.el --- Search, agenda, capture and undo over the memory  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Commands that ask the daemon what the user's Org files hold, and have it change them.  Answers come
;; when they come, in a list; a file is visited by a key on its line and never else.

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

(define-derived-mode bridle-memory-mode tabulated-list-mode "Memory"
  "Headings of the memory.
\\{bridle-memory-mode-map}"
  (setq tabulated-list-format [("State" 8 t) ("Heading" 44 t) ("File" 24 t) ("Text" 0 nil)]
        tabulated-list-padding 1)
  (setq-local bidi-paragraph-direction 'left-to-right
              revert-buffer-function (lambda (&rest _) (bridle-memory--ask)))
  (tabulated-list-init-header))

(define-key bridle-memory-mode-map "\r" #'bridle-memory-visit)

;;;###autoload
(defun bridle-search (text)
  "Search the memory for TEXT."
  (interactive "sSearch the memory: ")
  (bridle-memory--list "*bridle search*" `(:action :query :text ,text :limit 100)))

;;;###autoload
(defun bridle-agenda (days)
  "Show what is open in the memory in the next DAYS days."
  (interactive "p")
  (let ((days (if (eql days 1) 7 days)))
    (bridle-memory--list "*bridle agenda*"
                         `(:action :query :state :open :from ,(format-time-string "%F")
                           :to ,(format-time-string "%F" (time-add nil (* days 86400))) :limit 200))))

(defun bridle-memory--list (name query)
  "Show the answer to QUERY in the buffer NAME."
  (let ((session (bridle-current-session)))
    (with-current-buffer (get-buffer-create name)
      (bridle-memory-mode)
      (setq bridle-memory--session session bridle-memory--query query
            tabulated-list-entries nil)
      (setq mode-line-process " asking")
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
  "Show the objects of PAYLOAD in this list."
  (setq mode-line-process nil)
  (if (equal "error" (bridle-get-word payload :status))
      (message "The memory does not answer: %s"
               (bridle-text-line (or (bridle-get-string payload :message) "") 200))
    (setq tabulated-list-entries
          (cl-loop for object in (bridle-get-list payload :objects) repeat 1000
                   collect (list object
                                 (vector (bridle-text-line (or (bridle-get-name object :todo) "") 12)
                                         (bridle-text-line (or (bridle-get-string object :title) "") 80)
                                         (bridle-text-line (or (bridle-get-string object :path) "") 60)
                                         (bridle-text-line (or (bridle-get-string object :snippet) "")
                                                           120)))))
    (tabulated-list-print t)
    (message "%d found" (length tabulated-list-entries))))

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

;;;###autoload
(defun bridle-capture (title &optional body)
  "Put a heading TITLE with BODY, the region if there is one, into the memory."
  (interactive
   (list (read-string "Capture: ")
         (and (use-region-p) (buffer-substring-no-properties (region-beginning) (region-end)))))
  (when (string-blank-p title) (user-error "Nothing to capture"))
  (let ((text (concat "* TODO " (string-trim title) "\n"
                      (and body (replace-regexp-in-string "^\\*" " *" (concat (string-trim body) "\n"))))))
    (bridle-session-request
     (bridle-session-aside (bridle-current-session)) :memory
     `(:action :append-subtree :path ,bridle-capture-file :text ,text)
     (lambda (payload) (bridle-memory--report "Captured" payload)))
    (message "Sent; a question with the diff may come")))

(defun bridle-memory--report (word payload)
  "Say WORD, or what went wrong, for the answer PAYLOAD."
  (if (equal "success" (bridle-get-word payload :status))
      (message "%s" word)
    (message "%s: %s" (if (equal "pending-approval" (bridle-get-word payload :status))
                          "It waits for a yes" "Not done")
             (bridle-text-line (or (bridle-get-string payload :message)
                                   (bridle-get-word payload :code) "")
                               200))))

;;;###autoload
(defun bridle-undo-change ()
  "Take back the change of the memory at point of this transcript."
  (interactive)
  (let ((session (or bridle-org-session (user-error "Not in a transcript")))
        (effect (or (get-text-property (point) 'bridle-effect) (user-error "No change here"))))
    (when (y-or-n-p (format "Take back what %s changed? " effect))
      (bridle-session-find-act
       session effect
       (lambda (record text)
         (if (not record)
             (message "The record does not tell which change that is: %s" (bridle-text-line text 100))
           (bridle-session-request
            (bridle-session-aside session) :memory `(:action :undo :record ,record)
            (lambda (payload) (bridle-memory--report "Taken back" payload)))))))))

(provide 'bridle-memory)
;;; bridle-memory.el ends here
