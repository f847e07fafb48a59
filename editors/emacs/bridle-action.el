;;; bridle-action.el --- What the daemon may ask this editor to do  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Carries out requests of the daemon.  A message is shown and candidates are kept; all else is a question
;; first, whatever the daemon says: code is run, a buffer is changed or read only after a yes that was
;; given in this Emacs to exactly that.  A yes to the guard's question about the same code counts once.
;; Changes of saved files of the memory go to the daemon, which asks with its own diff; changes of
;; buffers are shown as a diff, and made only if the buffer is still what the diff was made of.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'org)
(require 'org-element)
(require 'bridle-session)
(require 'bridle-text)

(defconst bridle-action--approval-seconds 300
  "Seconds in which a yes to the guard's question counts for the request.")

(defconst bridle-action--longest-code 16384
  "Characters of code that somebody may be asked about: all are shown.")

(defconst bridle-action--longest-edit 2000000
  "Characters of a buffer that may be changed: a copy of it is made.")

(defconst bridle-action--longest-ast 32768
  "Characters of a buffer that Org parses here; longer ones go as text.")

(defconst bridle-action-offers
  '((:name :emacs
     :actions
     ((:name :message :about "Say something to the user."
       :arguments ((:name :text :required t :about "Text")
                   (:name :level :shape :choice :choices (:info :warning :error))))
      :notify
      (:name :complete :about "Give completions of the text before point."
       :arguments ((:name :prefix :required t :about "Text before point")
                   (:name :suggestions :shape :texts :required t :about "Whole texts")))
      :eval
      :insert-at-end
      (:name :refactor-subtree :about "Set properties of a heading in an open buffer."
       :arguments ((:name :target-id :required t :about "ID of the heading")
                   (:name :properties :shape :plist :required t :about "Names and values")))
      (:name :update-node :about "Change title, state or body of a heading in an open buffer."
       :arguments ((:name :target-id :required t :about "ID of the heading")
                   (:name :title) (:name :todo :about "TODO keyword")
                   (:name :body :about "Text of the heading itself, without those below it")))
      ;; The plain name is an edit of the memory.
      (:name :refile-subtree :about "Move a subtree of an open buffer below another heading of it."
       :arguments ((:name :target-id :required t :about "ID of the heading")
                   (:name :to :required t :about "ID of the other heading")))
      (:name :get-ast :about "Read an open buffer: its Org tree, or its text."
       :arguments ((:name :buffer :about "Name of the buffer; or give file")
                   (:name :file :about "Absolute path of an open file"))))))
  "What this editor carries out, for its hello.
Describing it grants nothing: the daemon judges, and this editor asks.")

(defvar bridle-action--approved nil
  "What was allowed here by an answer to the guard: (TEXT . TIME).")

(defvar bridle-action--candidates nil
  "Completions that the daemon gave: (PREFIX . CANDIDATES), the latest first.")

(defvar bridle-message-hook nil
  "Called with session, text and level when the daemon has a message.")

(defun bridle-action-perform (session id payload _meta)
  "Do what request ID with PAYLOAD wants in SESSION.
Return the payload of the answer, or nil when it comes later."
  (pcase (bridle-get-word payload :action)
    ((or "message" "notify") (bridle-action--message session payload))
    ("complete" (bridle-action--complete payload))
    ("eval" (bridle-action--eval session id payload))
    ((or "insert-at-end" "insert" "refactor-subtree" "update-node" "refile-subtree" "refile")
     (bridle-action--edit session id payload))
    ("get-ast" (bridle-action--read session id payload))
    (_ '(:status :error :code :unsupported :message "this editor does not do that"))))

(defun bridle-action--message (session payload)
  "Show the text of PAYLOAD of SESSION in the echo area."
  (let* ((text (bridle-text-line (or (bridle-get-string payload :text) "") 400))
         (level (bridle-get-word payload :level)))
    (let ((message-log-max (and message-log-max (min 1000 (if (numberp message-log-max)
                                                              message-log-max 1000)))))
      (message "%s: %s" (bridle-session-name session)
               (if (member level '("warning" "error")) (propertize text 'face 'warning) text)))
    (run-hook-with-args 'bridle-message-hook session text level)
    '(:status :success)))

;;;; Completion

(defun bridle-action--complete (payload)
  "Keep the suggestions of PAYLOAD."
  (let ((prefix (bridle-get-string payload :prefix))
        (suggestions (bridle-get-list payload :suggestions)))
    (if (not prefix)
        '(:status :error :message "no prefix")
      (bridle-action-add-candidates prefix (seq-filter #'stringp suggestions))
      (list :status :success :result (length suggestions)))))

(defun bridle-action-add-candidates (prefix candidates)
  "Keep CANDIDATES for PREFIX; a hundred of each, twenty prefixes."
  (let ((shown (cl-loop for text in candidates repeat 100
                        for line = (bridle-text-line text 120)
                        unless (string-empty-p line) collect line)))
    (setf (alist-get prefix bridle-action--candidates nil 'remove #'equal) nil)
    (when shown (push (cons prefix shown) bridle-action--candidates))
    (when (> (length bridle-action--candidates) 20)
      (setcdr (nthcdr 19 bridle-action--candidates) nil))))

(defun bridle-action-candidates (prefix)
  "Return the candidates that are known for PREFIX."
  (delete-dups
   (cl-loop for (known . candidates) in bridle-action--candidates
            when (string-prefix-p known prefix t)
            append (seq-filter (lambda (text) (string-prefix-p prefix text t)) candidates))))

;;;; Questions of this editor

(defun bridle-action-note-approval (question)
  "Note that QUESTION of the guard was allowed here: its code counts once."
  (when (equal "emacs" (bridle-question-target question))
    (push (cons (bridle-write (bridle-question-wanted question)) (float-time))
          bridle-action--approved)
    (when (> (length bridle-action--approved) 32)
      (setcdr (nthcdr 31 bridle-action--approved) nil))))

(defun bridle-action--was-approved (payload)
  "Whether exactly PAYLOAD was allowed here; it counts once."
  (let* ((text (bridle-write payload))
         (entry (assoc text bridle-action--approved)))
    (when entry
      (setq bridle-action--approved (delq entry bridle-action--approved))
      (< (- (float-time) (cdr entry)) bridle-action--approval-seconds))))

(cl-defun bridle-action--ask (session id payload &key text risk diff then)
  "Ask here for a yes to PAYLOAD, request ID of SESSION.
TEXT is the question, RISK and DIFF go with it; THEN is called after a
yes and returns the payload of the answer.  Return nil, or a refusal."
  ;; Who said yes to the guard has seen the code, but no diff of a buffer: that is shown in any case.
  (if (and (not diff) (bridle-action--was-approved payload))
      (bridle-action--try then)
    (unless (bridle-session-add-question
             session
             (bridle-question--make
              :id id :session session :kind 'local :text text :risk risk :target "emacs"
              :wanted payload :diff diff
              :answer (lambda (verdict)
                        (bridle-session-answer
                         session id
                         (if (eq verdict 'allow)
                             (bridle-action--try then)
                           '(:status :denied :message "denied in the editor"))))))
      '(:status :denied :message "too many questions wait in the editor"))))

(defun bridle-action--try (function)
  "Return the answer of FUNCTION, or the error that it ended with."
  (condition-case err
      (funcall function)
    (quit '(:status :error :message "interrupted by the user"))
    (error (list :status :error :message (bridle-text-line (error-message-string err) 500)))))

(defun bridle-action--eval (session id payload)
  "Ask whether the code of PAYLOAD, request ID of SESSION, may run."
  (let ((code (bridle-get-string payload :code)))
    (cond
     ((not code) '(:status :error :message "no code"))
     ((> (length code) bridle-action--longest-code)
      '(:status :error :message "the code is too long to be read by a person"))
     (t (bridle-action--ask
         session id payload :risk "dangerous"
         :text (format "Run this code in Emacs? (%d characters)" (length code))
         :then (lambda () (bridle-action--run code)))))))

(defun bridle-action--run (code)
  "Evaluate CODE, which somebody allowed, and return the answer."
  (pcase-let ((`(,form . ,end) (read-from-string code)))
    (unless (string-match-p "\\`[ \t\n\r\f]*\\'" (substring code end))
      (setq form (car (read-from-string (concat "(progn " code "\n)")))))
    (let ((print-length 200) (print-level 20))
      (list :status :success :result (prin1-to-string (eval form t))))))

;;;; Reading a buffer

(defun bridle-action--read (session id payload)
  "Ask whether the buffer of PAYLOAD, request ID of SESSION, may be sent."
  (let ((buffer (bridle-action--buffer payload)))
    (if (not buffer)
        '(:status :error :message "no such buffer")
      (bridle-action--ask
       session id payload :risk "caution"
       :text (format "Send the text of buffer %s to the daemon?" (buffer-name buffer))
       :then (lambda () `(:status :success ,@(bridle-action-contents buffer)))))))

(defun bridle-action-contents (buffer)
  "Return the AST of BUFFER if it is Org and short, else its text, as a plist."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (if (and (derived-mode-p 'org-mode) (< (buffer-size) bridle-action--longest-ast))
          (list :ast (bridle-action-ast))
        (list :text (buffer-substring-no-properties (point-min) (point-max)))))))

(defun bridle-action-ast ()
  "Return the AST of this Org buffer, without what leads back to itself."
  (let ((tree (org-element-parse-buffer)))
    (org-element-map tree (append org-element-all-elements org-element-all-objects '(plain-text))
      (lambda (node)
        (if (stringp node)
            (put-text-property 0 (length node) :parent nil node)
          (org-element-put-property node :parent nil)
          (when (org-element-property :structure node)
            (org-element-put-property node :structure nil))))
      nil nil nil t)
    tree))

;;;; Changing a buffer

(defun bridle-action--buffer (payload)
  "Return the open buffer that PAYLOAD names, or nil: no file is visited."
  (let ((name (bridle-get-string payload :buffer))
        (file (bridle-get-string payload :file))
        (id (bridle-get-name payload :target-id)))
    (cond
     (name (get-buffer name))
     (file (and (bridle-text-local-path-p file)
                (find-buffer-visiting file)))
     (id (cl-find-if (lambda (buffer) (bridle-action--find-id buffer id)) (buffer-list))))))

(defun bridle-action--find-id (buffer id)
  "Return where the heading with ID is in BUFFER, or nil."
  (with-current-buffer buffer
    (when (and (derived-mode-p 'org-mode) (not (derived-mode-p 'bridle-mode)))
      (save-excursion
        (save-restriction
          (widen)
          (goto-char (point-min))
          (let ((case-fold-search t))
            (when (re-search-forward
                   (format "^[ \t]*:\\(?:CUSTOM_\\)?ID:[ \t]+%s[ \t]*$" (regexp-quote id)) nil t)
              (and (re-search-backward "^\\*+ " nil t) (point)))))))))

(defun bridle-action--edit (session id payload)
  "Carry out the change of PAYLOAD, request ID of SESSION."
  (let ((buffer (bridle-action--buffer payload)))
    (cond
     ((not buffer) '(:status :error :message "no open buffer has that"))
     ((or (not (buffer-live-p buffer)) (string-prefix-p " " (buffer-name buffer))
          (with-current-buffer buffer
            (or (derived-mode-p 'bridle-mode 'comint-mode 'special-mode) buffer-read-only
                (minibufferp))))
      '(:status :error :message "that buffer is not changed from outside"))
     ((> (buffer-size buffer) bridle-action--longest-edit)
      '(:status :error :message "that buffer is too large"))
     ((bridle-action--memory-request buffer payload)
      (bridle-action--through-memory session id buffer payload))
     (t (bridle-action--in-buffer session id buffer payload)))))

(defun bridle-action--memory-request (buffer payload)
  "Return the actions of the memory for PAYLOAD about BUFFER, or nil.
Only for a saved file and a heading with an id."
  (let ((file (buffer-file-name buffer)) (target (bridle-get-name payload :target-id)))
    (when (and file target (not (buffer-modified-p buffer)) (not (file-remote-p file)))
      (let ((place (list :path (expand-file-name file) :id target)))
        (pcase (bridle-get-word payload :action)
          ("refactor-subtree"
           (cl-loop for (key value) in (bridle-action--properties payload)
                    collect `(:action :set-property ,@place :key ,key :value ,value)))
          ("update-node"
           (append
            (and (bridle-get-string payload :title)
                 `((:action :set-title ,@place :title ,(bridle-get-string payload :title))))
            (and (bridle-get-name payload :todo)
                 `((:action :set-state ,@place :state ,(bridle-get-name payload :todo))))))
          ((or "refile-subtree" "refile")
           (let ((to (bridle-get-name payload :to)))
             (and to `((:action :refile ,@place
                        :to (:path ,(expand-file-name file) :id ,to)))))))))))

(defun bridle-action--properties (payload)
  "Return the properties of PAYLOAD as lists of a name and a string."
  (let ((properties (bridle-get-list payload :properties)))
    (cl-loop for (key value) on properties by #'cddr
             for name = (cond ((stringp key) key)
                              ((symbolp key) (upcase (bridle-word key))))
             when (and name (string-match-p "\\`[-_[:alnum:]]+\\'" name))
             collect (list name (cond ((stringp value) value)
                                      ((null value) "")
                                      (t (bridle-write value)))))))

(defun bridle-action--through-memory (session id buffer payload)
  "Have the daemon of SESSION change the saved file of BUFFER as PAYLOAD says.
It asks with its own diff.  Request ID is answered at the end; where the
daemon has no such memory the buffer is changed instead."
  (let ((steps (bridle-action--memory-request buffer payload)))
    (cl-labels
        ((next (result)
           (if (null steps)
               (bridle-session-answer session id `(:status :success :result ,result))
             (bridle-session-request
              session :memory (pop steps)
              (lambda (answer)
                (pcase (bridle-get-word answer :status)
                  ("success" (next (or (bridle-get-string (bridle-get answer :result) :diff) "done")))
                  (_ (if (member (bridle-get-word answer :code) '("unknown-target" "refused"))
                         (let ((now (bridle-action--in-buffer session id buffer payload)))
                           (when now (bridle-session-answer session id now)))
                       (bridle-session-answer
                        session id (list :status :error
                                         :message (or (bridle-get-string answer :message)
                                                      "the memory did not change it")))))))))))
      (next nil))
    nil))

(defun bridle-action--in-buffer (session id buffer payload)
  "Ask whether BUFFER may be changed as PAYLOAD, request ID of SESSION, says."
  (condition-case err
      (let* ((before (with-current-buffer buffer
                       (save-restriction (widen) (buffer-substring-no-properties
                                                  (point-min) (point-max)))))
             (after (bridle-action--changed before payload)))
        (if (equal before after)
            '(:status :error :message "nothing would change")
          (bridle-action--ask
           session id payload :risk "caution"
           :text (format "Change buffer %s?" (buffer-name buffer))
           :diff (bridle-action-diff before after (buffer-name buffer))
           :then (lambda () (bridle-action--apply buffer before after)))))
    (error (list :status :error :message (bridle-text-line (error-message-string err) 300)))))

(defun bridle-action--apply (buffer before after)
  "Make BUFFER, if it still has the text BEFORE, have the text AFTER."
  (unless (buffer-live-p buffer) (error "The buffer is gone"))
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (unless (equal before (buffer-substring-no-properties (point-min) (point-max)))
        (error "The buffer has changed since the question"))
      (barf-if-buffer-read-only)
      ;; What is the same at both ends is left alone: markers and folds stay.
      (let* ((start (or (cl-mismatch before after) (length before)))
             (end (- (length before)
                     (bridle-action--common-end before after start)))
             (new-end (- (length after) (- (length before) end))))
        (save-excursion
          (goto-char (+ (point-min) start))
          (delete-region (point) (+ (point-min) end))
          (insert (substring after start new-end)))))
    '(:status :success :result "changed, and not saved")))

(defun bridle-action--common-end (before after start)
  "Return how many characters BEFORE and AFTER share at their ends, after START."
  (let ((most (- (min (length before) (length after)) start)) (count 0)
        (i (length before)) (j (length after)))
    (while (and (< count most) (eq (aref before (1- i)) (aref after (1- j))))
      (setq count (1+ count) i (1- i) j (1- j)))
    count))

(defun bridle-action--changed (before payload)
  "Return the text BEFORE, changed as PAYLOAD says."
  (with-temp-buffer
    (insert before)
    (let ((text (or (bridle-get-string payload :text) "")))
      (pcase (bridle-get-word payload :action)
        ((or "insert-at-end" "insert")
         (goto-char (point-max))
         (unless (or (bobp) (bolp) (string-prefix-p "\n" text)) (insert "\n"))
         (insert text))
        (action (bridle-action--change-subtree action payload))))
    (buffer-substring-no-properties (point-min) (point-max))))

(defun bridle-action--change-subtree (action payload)
  "Do ACTION with the heading that PAYLOAD names in this copy of a text."
  (let ((enable-local-variables nil) (org-inhibit-startup t))
    (delay-mode-hooks (org-mode)))
  (let* ((id (or (bridle-get-name payload :target-id) (error "No `:target-id'")))
         (place (or (bridle-action--find-id (current-buffer) id) (error "No heading has that id"))))
    (goto-char place)
    (pcase action
      ("refactor-subtree"
       (pcase-dolist (`(,name ,value) (bridle-action--properties payload))
         (org-entry-put (point) name value)))
      ("update-node" (bridle-action--update-node payload))
      ((or "refile-subtree" "refile")
       (let* ((to (or (bridle-get-name payload :to) (error "No `:to'")))
              (end (save-excursion (org-end-of-subtree t t) (point)))
              (text (delete-and-extract-region (point) end)))
         (goto-char (or (bridle-action--find-id (current-buffer) to) (error "No heading has that id")))
         (let ((level (1+ (org-outline-level))))
           (org-end-of-subtree t t)
           (unless (bolp) (insert "\n"))
           (bridle-action--paste text level)))))))

(defun bridle-action--update-node (payload)
  "Give the heading at point the title, state and body of PAYLOAD."
  (let ((title (bridle-get-string payload :title)) (todo (bridle-get-name payload :todo))
        (body (bridle-get-string payload :body)) (org-inhibit-logging t)
        (org-log-done nil) (org-log-repeat nil))
    (when title (org-edit-headline (replace-regexp-in-string "[\n\r]+" " " title)))
    (when todo (let ((org-todo-state-tags-triggers nil) (org-after-todo-state-change-hook nil)
                     (org-trigger-hook nil) (org-blocker-hook nil))
                 (org-todo (upcase todo))))
    (when body
      (save-excursion
        (org-end-of-meta-data t)
        (let ((from (point)))
          (delete-region from (if (re-search-forward "^\\*+ " nil t)
                                  (match-beginning 0) (point-max)))
          (goto-char from)
          (insert body)
          (unless (bolp) (insert "\n")))))))

(defun bridle-action--paste (text level)
  "Insert the subtree TEXT at LEVEL."
  (let* ((old (and (string-match "\\`\\*+" text) (length (match-string 0 text))))
         (delta (- level (or old level))))
    (insert (replace-regexp-in-string
             "^\\*+ " (lambda (stars) (concat (make-string (max 1 (+ delta (1- (length stars)))) ?*) " "))
             text t t))
    (unless (bolp) (insert "\n"))))

(defun bridle-action-diff (before after name)
  "Return how BEFORE becomes AFTER, as one hunk of a diff about NAME."
  (let* ((old (split-string before "\n")) (new (split-string after "\n"))
         (same (cl-loop for a in old for b in new while (equal a b) count t))
         (rest (min (- (length old) same) (- (length new) same)))
         (tail (cl-loop for a in (reverse old) for b in (reverse new)
                        repeat rest while (equal a b) count t))
         (from (max 0 (- same 2))) (after-end (min tail 2))
         (lines (lambda (list mark start end)
                  (mapconcat (lambda (line) (concat mark line "\n"))
                             (cl-subseq list (min start (length list)) (min end (length list))) ""))))
    (concat (format "--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n" name name
                    (1+ from) (- (+ (- (length old) tail) after-end) from)
                    (1+ from) (- (+ (- (length new) tail) after-end) from))
            (funcall lines old " " from same)
            (funcall lines old "-" same (- (length old) tail))
            (funcall lines new "+" same (- (length new) tail))
            (funcall lines old " " (- (length old) tail) (+ (- (length old) tail) after-end)))))

(provide 'bridle-action)
;;; bridle-action.el ends here
