;;; bridle-sensor.el --- What this editor tells the daemon  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; The sensors: which buffer was changed, where the user is, what stands around point.  All of them wait
;; until Emacs is idle, tell the latest and forget what came between, and are silent about buffers that
;; are not Org files of this machine unless `bridle-sense-function' says otherwise.  Short changes are
;; told as the subtrees that they touch; of a large buffer only that it is modified, and the daemon parses.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'org)
(require 'bridle-session)
(require 'bridle-action)

(defcustom bridle-sense-function #'bridle-sense-org-file-p
  "Whether the daemon is told about the current buffer."
  :group 'bridle
  :type 'function)

(defcustom bridle-sense-text t
  "Whether the text of unsaved changes is told, not only that there are some."
  :group 'bridle
  :type 'boolean)

(defcustom bridle-sense-seconds 0.5
  "Seconds of idleness before the daemon is told anything."
  :group 'bridle
  :type 'number)

(defconst bridle-sensor--longest-text 16384
  "Characters of changed subtrees that are told.")

(defvar bridle-sensor-session-function #'ignore
  "Returns the session that hears about the current buffer, or nil.")

(defvar bridle-sensor--timer nil "The timer of idleness.")
(defvar bridle-sensor--last-focus nil "What was told about the focus.")
(defvar bridle-sensor--last-point nil "What was told about point.")
(defvar bridle-sensor--dirty nil "Buffers with changes that are not told.")
(defvar-local bridle-sensor--changes nil "Start and end of what was changed, as markers.")
(defvar-local bridle-sensor--told nil "Whether the daemon counts this buffer as modified.")

(defun bridle-sense-org-file-p ()
  "Whether this buffer is an Org file of this machine that is not encrypted."
  (and buffer-file-name
       (derived-mode-p 'org-mode)
       (not (file-remote-p buffer-file-name))
       (not (string-match-p "\\.\\(?:gpg\\|age\\)\\'" buffer-file-name))
       (not (string-prefix-p " " (buffer-name)))))

;;;###autoload
(define-minor-mode bridle-sense-mode
  "Tell the daemon what is done in Org files."
  :global t
  :group 'bridle
  (let ((add (if bridle-sense-mode #'add-hook #'remove-hook)))
    (funcall add 'after-change-functions #'bridle-sensor--changed)
    (funcall add 'after-save-hook #'bridle-sensor--saved)
    (funcall add 'after-revert-hook #'bridle-sensor--reverted)
    (funcall add 'kill-buffer-hook #'bridle-sensor--killed))
  (when (timerp bridle-sensor--timer) (cancel-timer bridle-sensor--timer))
  (setq bridle-sensor--timer
        (and bridle-sense-mode
             (run-with-idle-timer bridle-sense-seconds t #'bridle-sensor--idle))))

(defun bridle-sensor--session ()
  "Return the attached session that hears about this buffer, or nil."
  (let ((session (funcall bridle-sensor-session-function)))
    (and session (bridle-session-is-attached session) session)))

(defun bridle-sensor--changed (from to _length)
  "Note that the text between FROM and TO was changed."
  (when (and buffer-file-name (funcall bridle-sense-function))
    (if bridle-sensor--changes
        (pcase-let ((`(,start . ,end) bridle-sensor--changes))
          (when (< from start) (set-marker start from))
          (when (> to end) (set-marker end to)))
      (setq bridle-sensor--changes (cons (copy-marker from) (copy-marker to t))))
    (cl-pushnew (current-buffer) bridle-sensor--dirty)))

(defun bridle-sensor--idle ()
  "Tell what has changed, and where the user is."
  (when bridle-sessions
    (let ((dirty bridle-sensor--dirty))
      (setq bridle-sensor--dirty nil)
      (dolist (buffer dirty)
        (when (buffer-live-p buffer)
          (with-current-buffer buffer (bridle-sensor-tell-changes)))))
    (with-current-buffer (window-buffer)
      (when (funcall bridle-sense-function)
        (bridle-sensor-tell-focus)
        (bridle-sensor-tell-point)))))

(defun bridle-sensor-tell-changes ()
  "Tell the changes of this buffer that are not told."
  (let ((session (bridle-sensor--session)) (changes bridle-sensor--changes))
    (cond
     ((null changes))
     ((null session) (cl-pushnew (current-buffer) bridle-sensor--dirty))
     ((not (buffer-modified-p)) (bridle-sensor--forget-changes))
     (t
      (bridle-session-tell
       session
       `(:sensor :buffer-update :file ,buffer-file-name :state :modified
         ,@(and bridle-sense-text (bridle-sensor--changed-subtrees (car changes) (cdr changes)))))
      (setq bridle-sensor--told t)
      (bridle-sensor--forget-changes)))))

(defun bridle-sensor--forget-changes ()
  "Note that the changes of this buffer are told."
  (when bridle-sensor--changes
    (set-marker (car bridle-sensor--changes) nil)
    (set-marker (cdr bridle-sensor--changes) nil)
    (setq bridle-sensor--changes nil)))

(defun bridle-sensor--changed-subtrees (from to)
  "Return the entries around FROM and TO as `:changes', or nil if they are long."
  (save-excursion
    (save-restriction
      (widen)
      (let* ((start (progn (goto-char (min from (point-max)))
                           (if (re-search-backward "^\\*+ " (max (point-min)
                                                                 (- (point) bridle-sensor--longest-text))
                                                   t)
                               (point) (max (point-min) (line-beginning-position)))))
             (end (progn (goto-char (min (max to (1+ start)) (point-max)))
                         (if (re-search-forward "^\\*+ " (min (point-max)
                                                              (+ (point) bridle-sensor--longest-text))
                                                t)
                             (match-beginning 0) (point-max)))))
        (when (<= (- end start) bridle-sensor--longest-text)
          `(:changes ((:begin ,start :end ,end
                       :text ,(buffer-substring-no-properties start end)))))))))

(defun bridle-sensor--settle (state)
  "Tell that this buffer is settled: STATE."
  (bridle-sensor--forget-changes)
  (when (and buffer-file-name (funcall bridle-sense-function))
    (let ((session (bridle-sensor--session)))
      (when session
        (setq bridle-sensor--told nil)
        (bridle-session-tell session `(:sensor :buffer-update :file ,buffer-file-name
                                       :state ,state))))))

(defun bridle-sensor--saved ()
  "Tell that this buffer was saved."
  (bridle-sensor--settle :saved))

(defun bridle-sensor--reverted ()
  "Tell that this buffer was read again."
  (when bridle-sensor--told (bridle-sensor--settle :reverted)))

(defun bridle-sensor--killed ()
  "Tell that this buffer is gone."
  (when bridle-sensor--told (bridle-sensor--settle :closed)))

(defun bridle-sensor-tell-focus ()
  "Tell in which buffer and line the user is, if that is new."
  (let* ((line (line-number-at-pos)) (column (current-column))
         (focus (list (current-buffer) line)) (session (bridle-sensor--session)))
    (when (and session (not (equal focus bridle-sensor--last-focus)))
      (setq bridle-sensor--last-focus focus)
      (bridle-session-tell
       session `(:sensor :focus :buffer ,(buffer-name) :file ,buffer-file-name
                 :line ,line :column ,column)))))

(defun bridle-sensor-tell-point ()
  "Tell at which heading the user is, if that is new."
  (let* ((heading (bridle-sensor--heading)) (place (cons (current-buffer) heading))
         (session (bridle-sensor--session)))
    (when (and session heading (not (equal place bridle-sensor--last-point)))
      (setq bridle-sensor--last-point place)
      (bridle-session-tell
       session `(:sensor :point-update :file ,buffer-file-name :element ,heading)))))

(defun bridle-sensor--heading ()
  "Return the heading around point as (headline PLIST), or nil."
  (save-excursion
    (end-of-line)
    (when (re-search-backward "^\\(\\*+\\) +\\(.*\\)$" (max (point-min) (- (point) 200000)) t)
      (let ((level (length (match-string 1)))
            (title (truncate-string-to-width (match-string-no-properties 2) 500)))
        (list 'headline (list :level level :raw-value title :begin (point)
                              :id (org-entry-get (point) "ID")))))))

(defun bridle-sensor-interrupt (session)
  "Have the present turn of SESSION given up."
  (bridle-session-say session '(:type :EVENT :payload (:sensor :interrupt))))

(defun bridle-sensor-send-buffer (session)
  "Tell SESSION the AST of this buffer if it is short, else its text."
  (bridle-session-say
   session
   `(:type :EVENT :payload (:sensor :buffer-update
                            ,@(if buffer-file-name (list :file buffer-file-name)
                                (list :buffer (buffer-name)))
                            :state ,(if (buffer-modified-p) :modified :saved)
                            ,@(bridle-action-contents (current-buffer))))))

(provide 'bridle-sensor)
;;; bridle-sensor.el ends here
