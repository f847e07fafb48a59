;;; bridle-org.el --- The transcript of a session as an Org buffer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; A listener of a session that writes what happens into an Org buffer: a heading for each prompt, the
;; answer below it, what was done in drawers, questions with their diff.  The buffer is made anew from
;; the record whenever a session is opened; nothing in it has to be saved.  Text of others comes in by
;; bridle-text.el alone.  Below the last heading is the place to write.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'org)
(require 'org-element)
(require 'text-property-search)

(defvar org-cite-activate-processor)
(require 'bridle-session)
(require 'bridle-text)

(defcustom bridle-shown-characters 20000
  "Characters of one text that a transcript shows; the rest on demand."
  :group 'bridle
  :type 'integer)

(defconst bridle-org--kept-characters (* 8 1024 1024)
  "Characters of long texts that a transcript keeps to show them on demand.")

(defconst bridle-org--flush-seconds 0.05
  "Seconds between two updates of an answer under way.")

(defconst bridle-org--flush-characters 16384
  "Characters that one update adds.")

(defvar-local bridle-org-session nil "The session of this transcript.")
(defvar-local bridle-org--end nil "Where the next block goes.")
(defvar-local bridle-org--top nil "Where an earlier block goes.")
(defvar-local bridle-org--prompt nil "Where the text to send begins.")
(defvar-local bridle-org--lives nil "What is in the making, in the order in which it is shown.")
(defvar-local bridle-org--progress nil "How far what runs is, in words of its own.")
(defvar-local bridle-org--blocks nil "Places of blocks by what they stand for.")
(defvar-local bridle-org--long nil "Long texts by number, the latest first.")
(defvar-local bridle-org--header nil "The header line.")
(defvar-local bridle-org--sent nil "Texts that were sent, the latest first.")
(defvar-local bridle-org--sent-at -1 "Which of the texts that were sent is shown.")

(cl-defstruct (bridle-live (:constructor bridle-live--make) (:copier nil))
  "What THOUGHT, or an act, makes on CHANNEL, shown between FROM and END.
LINE has no end yet and is shown from LINE-FROM; PIECES wait, the
latest first, WAITING characters of them.  OFFSET counts bytes."
  thought channel from end line-from (defuser (bridle-defuser-start))
  (line "") pieces (waiting 0) (offset 0) timer)

;;;; The mode

;; The commands of questions are in bridle-approve.el.
(declare-function bridle-allow "bridle-approve" ())
(declare-function bridle-always "bridle-approve" ())
(declare-function bridle-deny "bridle-approve" ())
(declare-function bridle-why "bridle-approve" ())
(declare-function bridle-show-question "bridle-approve" ())

(defvar bridle-question-map
  (let ((map (make-sparse-keymap)))
    (define-key map "a" 'bridle-allow)
    (define-key map "A" 'bridle-always)
    (define-key map "d" 'bridle-deny)
    (define-key map "?" 'bridle-why)
    (define-key map "\r" 'bridle-show-question)
    map)
  "Keys on a question, wherever it is shown.")

(defvar bridle-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map [remap org-open-at-point] #'bridle-org-open-link)
    (define-key map [remap org-open-at-mouse] #'bridle-org-open-link)
    (define-key map [remap org-ctrl-c-ctrl-c] #'bridle-org-send)
    (define-key map [remap org-cycle] #'bridle-org-tab)
    (define-key map [remap org-edit-special] #'undefined)
    (dolist (command '(org-babel-execute-src-block org-babel-execute-buffer
                       org-babel-execute-subtree org-babel-execute-maybe
                       org-babel-execute-src-block-maybe org-babel-lob-execute-maybe
                       org-babel-tangle org-table-eval-formula org-table-recalculate))
      (define-key map (vector 'remap command) #'undefined))
    (define-key map "\C-c\C-v" #'undefined)
    (define-key map "\C-c\C-c" #'bridle-org-send)
    (define-key map "\C-c\C-e" #'bridle-org-earlier)
    (define-key map "\C-c\C-o" #'bridle-org-open-link)
    (define-key map "\M-p" #'bridle-org-previous)
    (define-key map "\M-n" #'bridle-org-next)
    (define-key map "\t" #'bridle-org-tab)
    (define-key map [tab] #'bridle-org-tab)
    map)
  "Keys of a transcript; bridle.el adds those of its commands.")

(define-derived-mode bridle-mode org-mode "Bridle"
  "A session with bridle as an Org buffer.
\\{bridle-mode-map}"
  ;; What others wrote is shown as it is written, and nothing in it is run to show it.
  (setq-local org-highlight-links nil
              org-link-descriptive nil
              org-hide-emphasis-markers nil
              org-pretty-entities nil
              org-hide-leading-stars nil
              org-src-fontify-natively nil
              org-fontify-quote-and-verse-blocks nil
              org-element-use-cache nil
              org-babel-no-eval-on-ctrl-c-ctrl-c t
              org-confirm-babel-evaluate t
              org-link-elisp-confirm-function #'yes-or-no-p
              org-link-shell-confirm-function #'yes-or-no-p
              org-return-follows-link nil
              org-cite-activate-processor nil
              ;; Org takes `invisible' away when it colors; another name for it stays.
              char-property-alias-alist (cons '(invisible bridle-fold) char-property-alias-alist)
              font-lock-unfontify-region-function #'bridle-org--unfontify
              org-display-remote-inline-images nil
              org-table-automatic-realign nil
              org-tags-column 0
              enable-local-variables nil
              bidi-paragraph-direction 'left-to-right
              truncate-lines nil
              require-final-newline nil
              buffer-undo-list nil)
  (remove-from-invisibility-spec '(org-link))
  (remove-from-invisibility-spec 'org-link)
  (add-to-invisibility-spec '(bridle-drawer . t))
  (org-set-font-lock-defaults)
  (font-lock-refresh-defaults)
  (visual-line-mode 1)
  (setq-local imenu-create-index-function #'bridle-org--imenu
              header-line-format '(:eval bridle-org--header)
              bridle-org--blocks (make-hash-table :test #'equal)))

(defun bridle-org--unfontify (from to)
  "Take faces away between FROM and TO.
That of Org also takes the keys of questions and the folds of drawers."
  (font-lock-default-unfontify-region from to)
  (remove-text-properties from to '(mouse-face nil help-echo nil)))

(defun bridle-org-buffer (session)
  "Return the transcript of SESSION, made if there is none."
  (or (and (buffer-live-p (bridle-session-buffer session)) (bridle-session-buffer session))
      (let ((buffer (generate-new-buffer (format "*bridle: %s*" (bridle-session-name session)))))
        (with-current-buffer buffer
          (bridle-mode)
          (setq bridle-org-session session)
          (bridle-org--lay-out)
          (bridle-org--show-header)
          (add-hook 'kill-buffer-hook #'bridle-org--killed nil t))
        (setf (bridle-session-buffer session) buffer)
        (push #'bridle-org--listen (bridle-session-listeners session))
        buffer)))

(defun bridle-org--killed ()
  "Leave the session of this transcript."
  (dolist (live bridle-org--lives)
    (when (timerp (bridle-live-timer live)) (cancel-timer (bridle-live-timer live))))
  (when bridle-org-session (bridle-session-close bridle-org-session)))

(defun bridle-org--lay-out ()
  "Put the frame of a transcript into this empty buffer."
  (let ((inhibit-read-only t))
    (insert (propertize (format "#+title: %s\n" (bridle-session-name bridle-org-session))
                        'read-only t 'front-sticky t 'rear-nonsticky t))
    (setq bridle-org--top (copy-marker (point) nil))
    (setq bridle-org--end (copy-marker (point) t))
    (let ((from (point)))
      (insert "* Prompt\n")
      (add-text-properties from (point) '(read-only t rear-nonsticky t bridle-prompt t)))
    (set-marker-insertion-type bridle-org--end t)
    (set-marker bridle-org--end (- (point) 9))
    (setq bridle-org--prompt (copy-marker (point) nil))))

;;;; Blocks

(defmacro bridle-org--editing (&rest body)
  "Change this transcript with BODY, point and undo of the prompt kept."
  (declare (indent 0) (debug t))
  `(let* ((inhibit-read-only t)
          (undo buffer-undo-list)
          (size (buffer-size))
          (buffer-undo-list t))
     (save-excursion
       (save-restriction
         (widen)
         ,@body))
     (setq undo (bridle-org--shift-undo undo (- (buffer-size) size)))
     (set 'bridle-org--undo undo)))

(defvar bridle-org--undo nil "What is to be undone after the present change.")

(defun bridle-org--shift-undo (undo delta)
  "Return the entries of UNDO for a text that moved by DELTA characters."
  (if (or (eq undo t) (zerop delta))
      undo
    (cl-loop for entry in undo repeat 500
             collect (pcase entry
                       ((pred integerp) (+ entry delta))
                       (`(,(and from (pred integerp)) . ,(and to (pred integerp)))
                        (cons (+ from delta) (+ to delta)))
                       (`(,(and text (pred stringp)) . ,(and at (pred integerp)))
                        (cons text (if (< at 0) (- at delta) (+ at delta))))
                       (`(nil ,name ,value ,from . ,to)
                        `(nil ,name ,value ,(+ from delta) . ,(+ to delta)))
                       (_ entry)))))

(defmacro bridle-org--change (&rest body)
  "Change this transcript with BODY, and keep what can be undone."
  (declare (indent 0) (debug t))
  `(progn
     (bridle-org--editing ,@body)
     (unless (eq buffer-undo-list t)
       (setq buffer-undo-list bridle-org--undo))))

(defun bridle-org--add (text &rest properties)
  "Add TEXT with PROPERTIES at the end of this transcript, before the prompt."
  (bridle-org--change
    ;; What is in the making stays the last.
    (goto-char (if bridle-org--lives (bridle-live-from (car bridle-org--lives)) bridle-org--end))
    (bridle-org--insert text properties)))

(defun bridle-org--insert (text properties)
  "Insert TEXT with PROPERTIES at point; return where it begins."
  (let ((from (point)))
    (insert text)
    (add-text-properties from (point) `(read-only t front-sticky (read-only) ,@properties))
    (bridle-org--hide-drawers from (point))
    from))

(defun bridle-org--hide-drawers (from to)
  "Hide the insides of our drawers between FROM and TO."
  (save-excursion
    (goto-char from)
    (while (re-search-forward "^:RESULT:\\(\n\\(?:.*\n\\)*?\\):END:$" to t)
      (put-text-property (match-beginning 1) (match-end 0) 'bridle-fold 'bridle-drawer))))

(defun bridle-org--shorten (text)
  "Return the head of TEXT, and a line that says how to see the rest."
  (pcase-let ((`(,head . ,more) (bridle-text-head text bridle-shown-characters)))
    (if (zerop more)
        (cons head "")
      (cons head (format "- %d more characters: =M-x bridle-show-rest= %d\n"
                         more (bridle-org--keep text))))))

(defun bridle-org--keep (text)
  "Keep TEXT to be shown on demand; return its number."
  (let ((number (1+ (or (caar bridle-org--long) 0))) (room bridle-org--kept-characters))
    (push (cons number text) bridle-org--long)
    (setq bridle-org--long
          (cl-loop for entry in bridle-org--long
                   do (cl-decf room (length (cdr entry)))
                   while (>= room 0) collect entry))
    number))

(defun bridle-org--drawer (text)
  "Return TEXT as fixed-width lines in a drawer."
  (pcase-let ((`(,head . ,rest) (bridle-org--shorten text)))
    (concat ":RESULT:\n" (bridle-text-fixed head) rest ":END:\n")))

(defun bridle-org--time (meta)
  "Return when META says that something happened, as a heading shows it."
  (let ((at (bridle-get-integer meta :at)))
    (if at (format-time-string " [%F %a %R]" (/ at 1000)) "")))

;;;; What becomes of an event

(defun bridle-org--listen (session what data)
  "Show that WHAT happened in SESSION, with DATA."
  (when (buffer-live-p (bridle-session-buffer session))
    (with-current-buffer (bridle-session-buffer session)
      (pcase what
        ('event (bridle-org--show-event data nil))
        ('history (bridle-org--show-event data t))
        ('piece (bridle-org--stream data))
        ('question-gone (bridle-org--close-question data nil))
        ('question (when (eq 'local (bridle-question-kind data))
                     (bridle-org--add (bridle-org--question-block data)
                                      'bridle-question (bridle-question-id data)
                                      'keymap bridle-question-map)))
        ('state (when (equal "idle" (bridle-session-state session)) (bridle-org--end-lives)))
        ('voided (bridle-org--void data))
        ('down (bridle-org--end-lives)))
      (bridle-org--show-header))))

(defun bridle-org--show-event (form is-history)
  "Show the numbered event FORM, above all others if IS-HISTORY."
  (let* ((payload (bridle-get form :payload)) (meta (bridle-get form :meta))
         (seq (bridle-get-integer meta :seq))
         (text (bridle-org--event-text form payload meta)))
    (unless is-history (bridle-org--end-lives-of payload))
    (when text
      (let ((properties `(bridle-seq ,seq ,@(bridle-org--event-properties payload))))
        (if is-history
            (bridle-org--change
              (goto-char bridle-org--top)
              (bridle-org--insert text properties)
              (set-marker bridle-org--top (point)))
          (apply #'bridle-org--add text properties))))
    (when (equal (bridle-get-word payload :action) "answered")
      (bridle-org--close-question (bridle-get payload :approval) payload))))

(defun bridle-org--event-properties (payload)
  "Return the text properties by which PAYLOAD is found again."
  (let ((effect (bridle-get payload :effect)) (approval (bridle-get payload :approval)))
    `(,@(and (stringp effect) (list 'bridle-effect effect))
      ,@(and (stringp approval) (list 'bridle-question approval 'bridle-effect approval))
      ,@(and (stringp approval) (bridle-get payload :wanted)
             (list 'keymap bridle-question-map)))))

(defun bridle-org--event-text (form payload meta)
  "Return what shows FORM with its PAYLOAD and META, or nil for what is not shown."
  (let ((sensor (bridle-get-word payload :sensor)) (action (bridle-get-word payload :action))
        (type (bridle-get-word form :type)))
    (cond
     ((member sensor '("user-prompt" "user-input" "chat-message"))
      (bridle-org--prompt-text (or (bridle-get-string payload :text) "") meta))
     (sensor nil)
     ((member action '("noted" "interrupted" "handshake")) nil)
     ((and (equal type "request") (equal (bridle-get-word form :target) "approval"))
      (bridle-org--asked-text payload))
     ((and (equal action "asked") (bridle-get payload :approval)) (bridle-org--asked-text payload))
     ((equal action "answered") (bridle-org--answered-text payload))
     ((equal action "outcome") (bridle-org--outcome-text payload))
     ((equal action "asked") nil)
     ((equal action "omitted")
      (format "- An event of %s bytes is too large for this editor.\n"
              (or (bridle-get-integer payload :bytes) "many")))
     ((equal action "erased") "- The content of this event was destroyed.\n")
     ((equal action "unreadable") "- This event cannot be read.\n")
     ((equal type "request") (bridle-org--request-text payload))
     ((equal (bridle-get-word payload :status) "error") (bridle-org--error-text payload meta))
     ((and (bridle-get meta :answers) (bridle-get-string payload :text))
      (bridle-org--answer-text (bridle-get-string payload :text) meta))
     ((bridle-get-string payload :text)
      (bridle-org--answer-text (bridle-get-string payload :text) meta))
     ((bridle-get-string payload :message)
      (format "- %s\n" (bridle-text-line (bridle-get-string payload :message)))))))

(defun bridle-org--prompt-text (text meta)
  "Return the heading of a prompt TEXT with META."
  (let* ((lines (split-string (string-trim text) "\n"))
         (head (bridle-org--title (or (car lines) "")))
         (source (bridle-get-word meta :source)))
    (concat "* " head (bridle-org--time meta)
            (and source (not (bridle-get meta :own)) (not (equal source "emacs"))
                 (format " from %s" (bridle-text-line source 20)))
            "\n"
            (when (or (cdr lines) (not (equal head (car lines))))
              (bridle-org--shown text)))))

(defun bridle-org--title (line)
  "Return LINE as the title of a heading: visible, short, without syntax."
  (let ((title (bridle-text-line line 72)))
    (if (or (string-empty-p title)
            (string-prefix-p ": " (bridle-text--harmless title))
            (string-match-p "\\`\\(?:COMMENT\\|\\[#\\)\\|:\\'" title))
        (concat "=" (replace-regexp-in-string "[][=:{}<>|@]" " " title) "=")
      title)))

(defun bridle-org--shown (text)
  "Return TEXT as Org, its end left out if it is long."
  (pcase-let ((`(,head . ,rest) (bridle-org--shorten text)))
    (concat (bridle-text-org head) rest)))

(defun bridle-org--answer-text (text meta)
  "Return what shows the answer TEXT with META."
  (concat "** bridle" (bridle-org--time meta) "\n" (bridle-org--shown text)))

(defun bridle-org--error-text (payload meta)
  "Return what shows an answer PAYLOAD that is an error, with META."
  (concat "** bridle could not" (bridle-org--time meta) "\n"
          (bridle-text-fixed (format "%s: %s" (or (bridle-get-word payload :code) "error")
                                     (or (bridle-get-string payload :message) "")))
          (when (bridle-get-string payload :text)
            (bridle-org--shown (bridle-get-string payload :text)))))

(defun bridle-org--request-text (payload)
  "Return what shows a request to this editor, PAYLOAD."
  (format "- Asks this editor: %s\n" (bridle-org--verbatim (bridle-get-word payload :action))))

(defun bridle-org--verbatim (text)
  "Return TEXT, a word of others or nil, as verbatim Org."
  (concat "=" (replace-regexp-in-string "[=\n]" " " (bridle-text-line (or text "?") 80)) "="))

(defun bridle-org--outcome-text (payload)
  "Return what shows how a request ended, PAYLOAD."
  (let* ((result (bridle-get payload :result)) (reason (bridle-get payload :reason))
         (text (cond ((stringp result) result)
                     ((and (consp result) (bridle-get-string result :diff)))
                     ((and (consp result) (stringp (bridle-get result :result)))
                      (bridle-get result :result))
                     (result (bridle-write result))
                     ((stringp reason) reason)
                     (reason (bridle-write reason)))))
    (concat (format "- %s: %s\n" (bridle-org--verbatim (bridle-get-name payload :effect))
                    (bridle-text-line (or (bridle-get-word payload :outcome) "?") 40))
            (and text (bridle-org--drawer text)))))

(defun bridle-org--asked-text (payload)
  "Return what shows a question of the guard, PAYLOAD."
  (let ((wanted (bridle-get payload :wanted)))
    (bridle-org--question-block
     (bridle-question--make
      :id (bridle-get-name payload :approval) :kind 'guard
      :text (or (bridle-get-string payload :question) "") :risk (bridle-get-word payload :risk)
      :target (bridle-get-name payload :target) :wanted wanted
      :diff (bridle-get-string (bridle-get wanted :prepared) :diff)
      :scopes (bridle-question-read-scopes payload)))))

(defun bridle-org--question-block (question)
  "Return what shows QUESTION, open."
  (concat (format "** TODO %s asks %s\n" (bridle-org--verbatim (bridle-question-id question))
                  (if (eq 'local (bridle-question-kind question)) "(this editor)" ""))
          (bridle-text-fixed (bridle-question-text question))
          (bridle-org--wanted-text question)
          (substitute-command-keys
           "- \\<bridle-question-map>\\[bridle-allow] allow, \\[bridle-always] always, \\[bridle-deny] deny, \\[bridle-why] why\n")))

(defun bridle-org--wanted-text (question)
  "Return what shows exactly what QUESTION is for."
  (let ((wanted (bridle-question-wanted question)))
    (concat
     (cond
      ((bridle-question-diff question)
       (bridle-org--block "diff" (bridle-question-diff question)))
      ((bridle-get-string wanted :code)
       (bridle-org--block "emacs-lisp" (bridle-get-string wanted :code))))
     (bridle-org--files-text wanted)
     (bridle-org--drawer
      (concat (bridle-write wanted)
              (and (bridle-question-scopes question) "\n\nFrom now on:\n")
              (mapconcat #'bridle-question-scope-line (bridle-question-scopes question) "\n"))))))

(defun bridle-org--files-text (wanted)
  "Return links to the files that WANTED is about."
  (mapconcat
   (lambda (file)
     (let ((path (bridle-get-string file :path)))
       (if (and path (string-match-p "\\`/[-_./[:alnum:]]+\\'" path))
           (format "- [[file:%s]]\n" path)
         "")))
   (bridle-get-list (bridle-get wanted :prepared) :files) ""))

(defun bridle-org--block (language text)
  "Return TEXT as a source block of LANGUAGE: what it has is shown exactly."
  (pcase-let ((`(,head . ,rest) (bridle-org--shorten text)))
    (let ((defuser (bridle-defuser-start :block "src")))
      (concat "#+begin_src " language "\n"
              (mapconcat (lambda (line)
                           (if (string-match-p "\\`[ \t]*#\\+end_src" line)
                               (concat "," line)
                             (bridle-defuse-line defuser line)))
                         (split-string (bridle-text--lines head) "\n") "\n")
              "\n#+end_src\n" rest))))

(defun bridle-org--answered-text (payload)
  "Return what shows an answer PAYLOAD to a question."
  (format "- %s: %s by %s%s\n" (bridle-org--verbatim (bridle-get-name payload :approval))
          (bridle-text-line (or (bridle-get-word payload :answer) "answered") 20)
          (bridle-org--verbatim (bridle-get-name payload :by))
          (if (and (plist-member payload :counted) (not (bridle-get payload :counted)))
              " (does not count)" "")))

(defun bridle-org--close-question (id _payload)
  "Show that question ID is not open any more."
  (when (stringp id)
    (bridle-org--change
      (goto-char (point-max))
      (let ((match (text-property-search-backward 'bridle-question id t)))
        (while match
          (goto-char (prop-match-beginning match))
          (when (looking-at "\\*\\* \\(TODO\\) ")
            (let ((properties (text-properties-at (point))))
              (replace-match "DONE" t t nil 1)
              (set-text-properties (match-beginning 1) (+ 4 (match-beginning 1)) properties)))
          (goto-char (prop-match-beginning match))
          (setq match (and (not (bobp))
                           (text-property-search-backward 'bridle-question id t))))))))

;;;; What is in the making

(defconst bridle-org--channels
  '(("text" . "** bridle …") ("reasoning" . "** bridle thinks …") ("output" . "** output …"))
  "Channels that are shown in the transcript, and their headings.")

(defun bridle-org--stream (piece)
  "Show PIECE of something in the making."
  (let ((channel (plist-get piece :channel)))
    (cond
     ((equal channel "progress")
      (setq bridle-org--progress (bridle-text-line (bridle-org--last-line (plist-get piece :text)) 60)))
     ;; A channel that is not known is shown nowhere.
     ((assoc channel bridle-org--channels) (bridle-org--take-piece piece)))))

(defun bridle-org--last-line (text)
  "Return the last line of TEXT that says something."
  (or (car (last (split-string text "[\n\r]+" t "[ \t]+"))) ""))

(defun bridle-org--take-piece (piece)
  "Keep PIECE, and have it shown in a moment."
  (let* ((live (or (cl-find-if (lambda (live)
                                 (and (equal (bridle-live-thought live) (plist-get piece :thought))
                                      (equal (bridle-live-channel live) (plist-get piece :channel))))
                               bridle-org--lives)
                   (bridle-org--begin-live piece)))
         (text (plist-get piece :text)) (offset (plist-get piece :offset))
         (known (bridle-live-offset live)))
    (when offset
      (if (> offset known)
          ;; The front is gone, here or in the daemon.
          (progn (push "[…]\n" (bridle-live-pieces live))
                 (setq known offset))
        ;; What was shown already is not shown again.
        (setq text (bridle-org--behind text (- known offset)))))
    (setf (bridle-live-offset live) (+ known (string-bytes text)))
    (when (< (bridle-live-waiting live) bridle-org--kept-characters)
      (push text (bridle-live-pieces live))
      (cl-incf (bridle-live-waiting live) (length text)))
    (bridle-org--flush-soon live)))

(defun bridle-org--behind (text bytes)
  "Return what of TEXT comes behind its first BYTES bytes of UTF-8."
  (if (= (string-bytes text) (length text))
      (substring text (min (length text) bytes))
    (let ((at 0) (end (length text)))
      (while (and (> bytes 0) (< at end))
        (cl-decf bytes (string-bytes (substring text at (1+ at))))
        (cl-incf at))
      (substring text at))))

(defun bridle-org--begin-live (piece)
  "Begin to show what PIECE is the first of; return what stands for it."
  (let* ((channel (plist-get piece :channel))
         (live (bridle-live--make :thought (plist-get piece :thought) :channel channel)))
    (bridle-org--change
      (goto-char bridle-org--end)
      (setf (bridle-live-from live)
            (copy-marker (bridle-org--insert (concat (cdr (assoc channel bridle-org--channels)) "\n")
                                             '(bridle-live t)))
            (bridle-live-line-from live) (copy-marker (point))
            (bridle-live-end live) (copy-marker (point) t))
      ;; What stood last ends where this begins.
      (when bridle-org--lives
        (set-marker (bridle-live-end (car (last bridle-org--lives))) (bridle-live-from live))))
    (set-marker-insertion-type (bridle-live-from live) t)
    (setq bridle-org--lives (append bridle-org--lives (list live)))
    live))

(defun bridle-org--flush-soon (live)
  "Have what waits of LIVE shown in a moment."
  (unless (bridle-live-timer live)
    (let ((buffer (current-buffer)))
      (setf (bridle-live-timer live)
            (run-at-time bridle-org--flush-seconds nil
                         (lambda ()
                           (setf (bridle-live-timer live) nil)
                           (when (and (buffer-live-p buffer)
                                      (memq live (buffer-local-value 'bridle-org--lives buffer)))
                             (with-current-buffer buffer (bridle-org--flush live)))))))))

(defun bridle-org--flush (live)
  "Show what waits of LIVE, a bounded part at once."
  (let* ((text (apply #'concat (bridle-live-line live) (nreverse (bridle-live-pieces live))))
         (more (when (> (length text) bridle-org--flush-characters)
                 (prog1 (substring text bridle-org--flush-characters)
                   (setq text (substring text 0 bridle-org--flush-characters)))))
         (lines (split-string text "\n")) (last (car (last lines))))
    (when (> (length last) bridle-text-longest-line)
      (setq lines (append lines (list "")) last ""))
    (bridle-org--change
      (delete-region (bridle-live-line-from live) (bridle-live-end live))
      (goto-char (bridle-live-line-from live))
      (dolist (line (butlast lines))
        (bridle-org--insert (concat (bridle-org--live-line live line) "\n") '(bridle-live t)))
      (set-marker (bridle-live-line-from live) (point))
      (bridle-org--insert (concat (bridle-org--unfinished live last) "\n") '(bridle-live t)))
    (setf (bridle-live-line live) last
          (bridle-live-pieces live) (and more (list more))
          (bridle-live-waiting live) (length more))
    (when more (bridle-org--flush-soon live))))

(defun bridle-org--live-line (live line)
  "Return LINE of LIVE as it is shown: output of programs is no Org."
  (let ((line (bridle-text-break (bridle-text-visible line))))
    (if (equal "output" (bridle-live-channel live))
        (string-trim-right (bridle-text-fixed line) "\n")
      (bridle-defuse-line (bridle-live-defuser live) line))))

(defun bridle-org--unfinished (live line)
  "Return LINE of LIVE, which has no end yet."
  (let ((line (bridle-text-visible line)))
    (if (equal "output" (bridle-live-channel live))
        (string-trim-right (bridle-text-fixed line) "\n")
      (bridle-text--harmless line))))

(defun bridle-org--end-lives-of (payload)
  "Take away what PAYLOAD, an event, says the whole of."
  (cond
   ((equal (bridle-get-word payload :action) "outcome")
    (let ((effect (bridle-get-name payload :effect)))
      (when (and effect (string-match "-\\([0-9]+\\)\\'" effect))
        (setq bridle-org--progress nil)
        (bridle-org--end-lives (match-string 1 effect)))))
   ((or (bridle-get-string payload :text) (bridle-get payload :status))
    (bridle-org--end-lives nil '("text" "reasoning")))))

(defun bridle-org--void (thought)
  "Take away what THOUGHT has shown, and say so."
  (when (cl-find thought bridle-org--lives :key #'bridle-live-thought :test #'equal)
    (bridle-org--end-lives thought)
    (bridle-org--add "- What stood here was taken back.\n")))

(defun bridle-org--end-lives (&optional thought channels)
  "Take away what is in the making: of THOUGHT and on CHANNELS, if given.
What is recorded of it takes its place."
  (unless (or thought channels) (setq bridle-org--progress nil))
  (dolist (live bridle-org--lives)
    (when (and (or (null thought) (equal thought (bridle-live-thought live)))
               (or (null channels) (member (bridle-live-channel live) channels)))
      (setq bridle-org--lives (delq live bridle-org--lives))
      (when (timerp (bridle-live-timer live)) (cancel-timer (bridle-live-timer live)))
      (bridle-org--change
        (delete-region (bridle-live-from live) (bridle-live-end live)))
      (dolist (marker (list (bridle-live-from live) (bridle-live-end live) (bridle-live-line-from live)))
        (set-marker marker nil)))))

;;;; The header line

(defun bridle-org--show-header ()
  "Write the header line: session, state, model, cost, what waits."
  (let* ((session bridle-org-session)
         (questions (length (bridle-session-questions session)))
         (sent (cl-loop for saying being the hash-values of (bridle-session-sayings session)
                        count (bridle-saying-prompt saying))))
    (setq bridle-org--header
          (replace-regexp-in-string
           "%" "%%"
           (string-join
            (delq nil
                  `(,(concat " " (bridle-session-name session))
                    ,(pcase (bridle-session-phase session)
                       ('attached (bridle-text-line (bridle-session-state session) 20))
                       ((or 'probing 'attaching) "attaching")
                       ((or 'down 'refused)
                        (format "not connected: %s"
                                (bridle-text-line (or (bridle-session-trouble session) "?") 60)))
                       (phase (symbol-name phase)))
                    ,@(bridle-org--costs (bridle-session-costs session))
                    ,@(cl-loop for (key count) on (bridle-session-load session) by #'cddr
                               collect (format "%d %s there" count (bridle-word key)))
                    ,(and (> sent 0) (format "%d running" sent))
                    ,bridle-org--progress
                    ,(and (> questions 0)
                          (propertize (format "%d waiting for you" questions) 'face 'warning))))
            "  ·  ")
           t t)))
  (force-mode-line-update))

(defun bridle-org--costs (costs)
  "Return model and cost of COSTS, sums of the daemon, as texts."
  (let ((model (bridle-get-string costs :model)) (thoughts (or (bridle-get-integer costs :thoughts) 0))
        (dollars (/ (or (bridle-get-integer costs :cost-microdollars) 0) 1e6))
        (unpriced (or (bridle-get-integer costs :unpriced) 0)))
    (and model
         (list (bridle-text-line model 40)
               ;; What nobody knows is no zero.
               (cond ((= unpriced thoughts) (and (> thoughts 0) "cost unknown"))
                     ((= unpriced 0) (format "$%.4f" dollars))
                     (t (format "$%.4f + %d unknown" dollars unpriced)))))))

;;;; Commands

(defun bridle-org-send ()
  "Send the text below the heading Prompt."
  (interactive)
  (unless (and bridle-org-session (>= (point) bridle-org--prompt))
    (user-error "Write below the heading Prompt; point is above it"))
  (let ((text (string-trim (buffer-substring-no-properties bridle-org--prompt (point-max)))))
    (when (string-empty-p text) (user-error "Nothing to send"))
    (delete-region bridle-org--prompt (point-max))
    (setq buffer-undo-list nil bridle-org--sent-at -1)
    (push text bridle-org--sent)
    (bridle-org-prompt bridle-org-session text)))

(defun bridle-org-prompt (session text &optional fields callback)
  "Say TEXT with FIELDS in SESSION and show it; CALLBACK gets the answer."
  (let ((saying (bridle-session-prompt session text fields callback)))
    (when (buffer-live-p (bridle-session-buffer session))
      (with-current-buffer (bridle-session-buffer session)
        (bridle-org--add (bridle-org--prompt-text text (list :at (truncate (* 1000 (float-time)))
                                                             :own t))
                         'bridle-saying (bridle-saying-id saying))
        (bridle-org--show-header)))
    saying))

(defun bridle-org-previous (&optional step)
  "Put the text that was sent before into the prompt; STEP is 1 or -1."
  (interactive)
  (let ((at (+ bridle-org--sent-at (or step 1))))
    (unless (< -2 at (length bridle-org--sent)) (user-error "No further text"))
    (setq bridle-org--sent-at at)
    (delete-region bridle-org--prompt (point-max))
    (goto-char (point-max))
    (when (>= at 0) (insert (nth at bridle-org--sent)))))

(defun bridle-org-next ()
  "Put the text that was sent after the one shown into the prompt."
  (interactive)
  (bridle-org-previous -1))

(defun bridle-org-earlier ()
  "Show earlier events of this session."
  (interactive)
  ;; All that came later is sent again, so each step is longer than the one before.
  (let* ((shown (- (or (bridle-session-cursor bridle-org-session) 0)
                   (or (bridle-session-floor bridle-org-session) 0)))
         (count (max 200 (* 3 shown))))
    (if (bridle-session-fetch-earlier bridle-org-session count)
        (message "Earlier events come above")
      (message "There are no earlier events"))))

(defun bridle-org-tab ()
  "Fold or unfold the heading or drawer at point; complete in the prompt."
  (interactive)
  (cond
   ((>= (point) bridle-org--prompt) (completion-at-point))
   ((org-at-heading-p) (let ((last-command nil)) (org-cycle)))
   (t (save-excursion
        (beginning-of-line)
        (when (looking-at ":RESULT:$")
          (bridle-org--toggle-drawer (match-end 0)))))))

(defun bridle-org--toggle-drawer (from)
  "Hide or show the inside of the drawer whose first line ends at FROM."
  (save-excursion
    (goto-char from)
    (when (re-search-forward "^:END:$" nil t)
      (let ((end (point)))
        (bridle-org--change
          (if (get-text-property from 'bridle-fold)
              (remove-text-properties from end '(bridle-fold nil))
            (put-text-property from end 'bridle-fold 'bridle-drawer)))))))

(defun bridle-org--link-at-point ()
  "Return the link at point as (TYPE . PATH), or nil."
  (let ((context (org-element-context)))
    (when (eq 'link (org-element-type context))
      (cons (org-element-property :type context) (org-element-property :raw-link context)))))

(defun bridle-org-open-link (&optional event)
  "Open the link at point, or where EVENT was, after showing where it leads."
  (interactive (list last-nonmenu-event))
  (when (mouse-event-p event) (mouse-set-point event))
  (pcase (bridle-org--link-at-point)
    ('nil (user-error "No link here"))
    (`(,(or "http" "https") . ,link)
     (when (yes-or-no-p (format "Open %s in the browser? " (bridle-text-visible link)))
       (browse-url link)))
    (`("file" . ,link)
     (let ((path (string-remove-prefix "file:" link)))
       (unless (bridle-text-local-path-p path)
         (user-error "Only files of this machine are opened from here, by their whole path"))
       (when (yes-or-no-p (format "Visit %s? " (bridle-text-visible path)))
         (let ((enable-local-variables :safe) (enable-local-eval nil) (enable-dir-local-variables nil))
           (find-file path)))))
    (`("id" . ,link)
     (when (yes-or-no-p (format "Go to %s? " (bridle-text-visible link)))
       (org-id-goto (string-remove-prefix "id:" link))))
    (`(,type . ,_) (user-error "Links of the kind %s are not opened from here" type))))

(declare-function org-id-goto "org-id" (id))

(defun bridle-org--imenu ()
  "Return the prompts of this transcript for imenu."
  (let (index)
    (save-excursion
      (goto-char (point-min))
      (while (re-search-forward "^\\* \\(.+\\)$" nil t)
        (unless (get-text-property (match-beginning 0) 'bridle-prompt)
          (push (cons (match-string-no-properties 1) (match-beginning 0)) index))))
    (nreverse index)))

(provide 'bridle-org)
;;; bridle-org.el ends here
