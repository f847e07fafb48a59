;;; bridle-read.el --- Read and write the data language of bridle  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; The forms of the framed protocol as Lisp data, and back.  The reader takes text from a buffer in
;; steps, so that a message of some megabytes never holds Emacs up, and it is no `read': nothing is
;; evaluated, text properties are dropped, every `#' but that of a string with properties or a vector
;; is refused, depth and number of values are bounded, and names that Emacs does not have are kept in
;; an obarray of the reader's own.  Called by bridle-wire.el; the plist helpers are for everybody.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(define-error 'bridle-read-error "Not a form of the data language")

(defconst bridle-read-max-depth 512
  "Lists inside each other that the reader follows; the daemon says the same limit.")

(defconst bridle-read-max-values 500000
  "Values in one message.")

(defconst bridle-read-max-names 65536
  "Names unknown to Emacs that are kept until the reader begins a new obarray.")

(defconst bridle-read--piece 65536
  "Characters of a string that are looked at between two looks at the clock.")

(defvar bridle-read--names (obarray-make 1511)
  "Names that Emacs does not have: a peer cannot fill the obarray of Emacs.")

(defvar bridle-read--name-count 0
  "Number of names in `bridle-read--names'.")

(cl-defstruct (bridle-reader (:constructor bridle-reader--make) (:copier nil))
  "Where reading stands: a buffer, and the lists that are open."
  buffer stack (kind 'top) items (tail 'none) (depth 0) (count 0)
  string-from piece-from pieces escaped)

(defun bridle-reader-start (buffer)
  "Return a reader of the one form in BUFFER, from its beginning."
  (with-current-buffer buffer (goto-char (point-min)))
  (bridle-reader--make :buffer buffer))

(defun bridle-read--fail (category)
  "Refuse the text with CATEGORY, a string."
  (signal 'bridle-read-error (list category (point))))

(defun bridle-reader-step (reader deadline)
  "Go on with READER until DEADLINE, a `float-time', or to the end if nil.
Return nil when there is more to do, and a list of the form when it
is whole.  Signal `bridle-read-error' for what is no form."
  (with-current-buffer (bridle-reader-buffer reader)
    (let ((round 0) (result nil) (is-late nil))
      (while (not (or result is-late))
        (if (bridle-reader-string-from reader)
            (setq is-late (not (bridle-read--string-step reader)))
          (skip-chars-forward " \t\r\n\f")
          (setq result (bridle-read--token reader (char-after))))
        (setq round (1+ round))
        (when (and deadline (not result)
                   (or is-late (zerop (logand round 127))))
          (setq is-late (> (float-time) deadline)))
        (when (and is-late (not deadline)) (setq is-late nil)))
      result)))

(defun bridle-read--token (reader char)
  "Take what begins with CHAR for READER.
Return a list of the form if it is whole."
  (cond
   ((null char) (bridle-read--end reader))
   ((eq char ?\() (forward-char) (bridle-read--open reader 'list) nil)
   ((eq char ?\)) (forward-char) (bridle-read--close reader '(list props)) nil)
   ((eq char ?\[) (forward-char) (bridle-read--open reader 'vector) nil)
   ((eq char ?\]) (forward-char) (bridle-read--close reader '(vector)) nil)
   ((eq char ?\") (bridle-read--string-start reader) nil)
   ((eq char ?#) (bridle-read--hash reader) nil)
   ((eq char ?') (forward-char) (bridle-read--open reader 'quote) nil)
   ((memq char '(?\; ?` ?, ?{ ?} ?|)) (bridle-read--fail "unexpected"))
   ((< char ?\s) (bridle-read--fail "control"))
   (t (bridle-read--atom reader char) nil)))

(defun bridle-read--end (reader)
  "Return a list of the form of READER at the end of the text."
  (unless (and (eq (bridle-reader-kind reader) 'top) (bridle-reader-items reader))
    (bridle-read--fail "incomplete"))
  (bridle-reader-items reader))

(defun bridle-read--open (reader kind)
  "Begin a list of KIND in READER."
  (when (> (cl-incf (bridle-reader-depth reader)) bridle-read-max-depth)
    (bridle-read--fail "depth"))
  (bridle-read--check-room reader)
  (push (list (bridle-reader-kind reader) (bridle-reader-items reader) (bridle-reader-tail reader))
        (bridle-reader-stack reader))
  (setf (bridle-reader-kind reader) kind
        (bridle-reader-items reader) nil
        (bridle-reader-tail reader) 'none))

(defun bridle-read--check-room (reader)
  "Refuse a second form, a second tail, and one value too many in READER."
  (when (or (and (eq (bridle-reader-kind reader) 'top) (bridle-reader-items reader))
            (not (memq (bridle-reader-tail reader) '(none due))))
    (bridle-read--fail "trailing"))
  (when (> (cl-incf (bridle-reader-count reader)) bridle-read-max-values)
    (bridle-read--fail "elements")))

(defun bridle-read--close (reader kinds)
  "End the innermost list of READER, which must be one of KINDS."
  (let ((kind (bridle-reader-kind reader))
        (items (bridle-reader-items reader))
        (tail (bridle-reader-tail reader)))
    (unless (memq kind kinds) (bridle-read--fail "unbalanced"))
    (when (eq tail 'due) (bridle-read--fail "unbalanced"))
    (let ((value (pcase kind
                   ('vector (vconcat (nreverse items)))
                   ;; A string with properties is its text; what else begins so is a vector.
                   ('props (if (and items (stringp (car (last items))))
                               (car (last items))
                             (vconcat (nreverse items))))
                   (_ (if (consp tail)
                          (nconc (nreverse items) (car tail))
                        (nreverse items))))))
      (bridle-read--leave reader)
      (bridle-read--put reader value))))

(defun bridle-read--leave (reader)
  "Go back to the list around the innermost one of READER."
  (pcase-let ((`(,kind ,items ,tail) (pop (bridle-reader-stack reader))))
    (cl-decf (bridle-reader-depth reader))
    (setf (bridle-reader-kind reader) kind
          (bridle-reader-items reader) items
          (bridle-reader-tail reader) tail)))

(defun bridle-read--put (reader value)
  "Add VALUE to the innermost list of READER."
  (if (eq (bridle-reader-tail reader) 'due)
      (setf (bridle-reader-tail reader) (list value))
    (push value (bridle-reader-items reader)))
  (when (eq (bridle-reader-kind reader) 'quote)
    (bridle-read--leave reader)
    (bridle-read--put reader (list 'quote value))))

(defun bridle-read--hash (reader)
  "Take a string with properties or a vector for READER.
All else that begins with `#' is refused."
  (unless (eq (char-after (1+ (point))) ?\()
    (bridle-read--fail "hash"))
  (forward-char 2)
  (bridle-read--open reader 'props))

(defun bridle-read--atom (reader char)
  "Take the number or name that begins with CHAR for READER."
  (let ((from (point)))
    (when (eq char ??)
      (forward-char))
    (while (progn (skip-chars-forward "^ \t\r\n\f()[]\"\\\\;'`,{}|")
                  (when (eq (char-after) ?\\)
                    (unless (char-after (1+ (point))) (bridle-read--fail "incomplete"))
                    (forward-char 2)
                    t)))
    (let ((text (buffer-substring-no-properties from (point))))
      (if (equal text ".")
          (bridle-read--dot reader)
        (bridle-read--check-room reader)
        (bridle-read--put reader (bridle-read--value text))))))

(defun bridle-read--dot (reader)
  "Note that the tail of the innermost list of READER comes."
  (unless (and (eq (bridle-reader-kind reader) 'list)
               (bridle-reader-items reader)
               (eq (bridle-reader-tail reader) 'none))
    (bridle-read--fail "unbalanced"))
  (setf (bridle-reader-tail reader) 'due))

(defun bridle-read--value (text)
  "Return what TEXT stands for: a number, nil, t, a character or a symbol."
  (cond
   ((member text '("nil" "NIL")) nil)
   ((member text '("t" "T")) t)
   ((string-match-p "\\`[-+]?[0-9]+\\.?\\'" text)
    (when (> (length text) 4096) (bridle-read--fail "digits"))
    (string-to-number text))
   ((and (< (length text) 64)
         (string-match-p "\\`[-+]?[0-9]*\\.[0-9]+\\(?:[eE][-+]?[0-9]+\\)?\\'\\|\\`[-+]?[0-9]+[eE][-+]?[0-9]+\\'" text))
    (string-to-number text))
   ((string-match-p "\\`\\?[^\\]\\'" text) (aref text 1))
   (t (bridle-read--symbol (if (string-search "\\" text)
                               (replace-regexp-in-string "\\\\\\(.\\|\n\\)" "\\1" text)
                             text)))))

(defun bridle-read--symbol (name)
  "Return the symbol NAME, of Emacs if it has one."
  (when (> (length name) 4096) (bridle-read--fail "atom"))
  (or (intern-soft name)
      (progn
        (when (> (cl-incf bridle-read--name-count) bridle-read-max-names)
          (setq bridle-read--names (obarray-make 1511) bridle-read--name-count 1))
        (intern name bridle-read--names))))

;;;; Strings

(defun bridle-read--string-start (reader)
  "Begin the string at point for READER."
  (bridle-read--check-room reader)
  (forward-char)
  (setf (bridle-reader-string-from reader) (point)
        (bridle-reader-piece-from reader) (point)
        (bridle-reader-pieces reader) nil
        (bridle-reader-escaped reader) nil)
  ;; Most are short: no second round for them.
  (bridle-read--string-step reader))

(defun bridle-read--string-step (reader)
  "Go on with the string of READER; return t when its end was found."
  (let ((limit (min (point-max) (+ (point) bridle-read--piece))) (is-done nil))
    (while (and (not is-done) (< (point) limit))
      (skip-chars-forward "^\"\\\\" limit)
      (cond
       ((>= (point) limit))
       ((eq (char-after) ?\") (setq is-done t))
       ((null (char-after (1+ (point)))) (bridle-read--fail "incomplete"))
       (t (when (> (- (point) (bridle-reader-piece-from reader)) bridle-read--piece)
            (bridle-read--cut reader))
          (setf (bridle-reader-escaped reader) t)
          (forward-char 2))))
    (cond
     (is-done
      (bridle-read--cut reader)
      (forward-char)
      (bridle-read--put reader (apply #'concat (nreverse (bridle-reader-pieces reader))))
      (setf (bridle-reader-string-from reader) nil
            (bridle-reader-pieces reader) nil)
      t)
     ((>= (point) (point-max)) (bridle-read--fail "incomplete"))
     ;; Not in the middle of an escape: those have a few characters.
     ((and (>= (point) limit)
           (not (save-excursion (search-backward "\\" (max (point-min) (- limit 32)) t))))
      (bridle-read--cut reader)
      nil))))

(defun bridle-read--cut (reader)
  "Keep the piece of a string of READER that ends at point."
  (let* ((from (bridle-reader-piece-from reader))
         (text (buffer-substring-no-properties from (point))))
    (push (if (bridle-reader-escaped reader) (bridle-read--unescape text) text)
          (bridle-reader-pieces reader))
    (setf (bridle-reader-piece-from reader) (point)
          (bridle-reader-escaped reader) nil)))

(defun bridle-read--unescape (text)
  "Return TEXT, the inside of a string literal, with its escapes replaced.
It has no quote that is not escaped and no backslash at its end, so
`read' sees one string and nothing else."
  (condition-case nil
      (let ((value (car (read-from-string (concat "\"" text "\"")))))
        (if (multibyte-string-p value) value (string-to-multibyte value)))
    (error (bridle-read--fail "escape"))))

(defun bridle-read-string (text)
  "Return the form in TEXT.  Signal `bridle-read-error' for what is no form."
  (with-temp-buffer
    (insert text)
    (car (bridle-reader-step (bridle-reader-start (current-buffer)) nil))))

;;;; Writing

(defconst bridle-write--not-unicode "[^\x0-\xd7ff\xe000-\x10ffff]"
  "Characters that UTF-8 does not have: halves of pairs, raw bytes, beyond.")

(defun bridle-write (form)
  "Return FORM as text that the daemon reads, with the escapes of Emacs."
  (let ((print-length nil) (print-level nil) (print-circle nil) (print-gensym nil)
        (print-quoted nil) (print-escape-newlines nil) (print-escape-nonascii nil)
        (print-escape-multibyte nil) (print-escape-control-characters nil)
        (print-integers-as-characters nil) (float-output-format nil) (print-charset-text-property nil)
        (print-continuous-numbering nil))
    (bridle-write--unicode (prin1-to-string form))))

(defun bridle-write--unicode (text)
  "Return the printed TEXT with only what UTF-8 has."
  (let ((replacement "\N{REPLACEMENT CHARACTER}"))
    (when (string-match-p "\\\\[23][0-7][0-7]" text)
      ;; Raw bytes are printed by number; a backslash of the text is printed twice.
      (setq text (replace-regexp-in-string
                  "\\\\\\(?:\\\\\\|[23][0-7][0-7]\\)"
                  (lambda (match) (if (equal match "\\\\") match replacement)) text t t)))
    (if (string-match-p bridle-write--not-unicode text)
        (replace-regexp-in-string bridle-write--not-unicode replacement text t t)
      text)))

;;;; Property lists

(defun bridle-plist-p (value)
  "Whether VALUE is a proper list of keywords and values."
  (and (proper-list-p value)
       (zerop (logand 1 (length value)))
       (cl-loop for (key) on value by #'cddr always (and key (symbolp key)))))

(defun bridle-get (plist key)
  "Return the value of KEY in PLIST, whatever their case; nil for what is no plist."
  (let ((name (symbol-name key)) (value nil) (is-found nil))
    (while (and (not is-found) (consp plist) (consp (cdr plist)))
      (let ((this (car plist)))
        (if (and (symbolp this)
                 (or (eq this key)
                     (eq t (compare-strings (symbol-name this) nil nil name nil nil t))))
            (setq is-found t value (cadr plist))
          (setq plist (cddr plist)))))
    value))

(defun bridle-get-string (plist key)
  "Return the value of KEY in PLIST if it is a string."
  (let ((value (bridle-get plist key))) (and (stringp value) value)))

(defun bridle-get-integer (plist key)
  "Return the value of KEY in PLIST if it is a whole number."
  (let ((value (bridle-get plist key))) (and (integerp value) value)))

(defun bridle-get-list (plist key)
  "Return the value of KEY in PLIST if it is a proper list."
  (let ((value (bridle-get plist key))) (and (proper-list-p value) value)))

(defun bridle-word (value)
  "Return the name of the symbol VALUE in lower case without its colon, or nil."
  (and value (symbolp value)
       (downcase (string-remove-prefix ":" (symbol-name value)))))

(defun bridle-get-word (plist key)
  "Return the value of KEY in PLIST as a lower-case string if it is a symbol."
  (bridle-word (bridle-get plist key)))

(defun bridle-get-name (plist key)
  "Return the value of KEY in PLIST, a string, symbol or number, as a string."
  (let ((value (bridle-get plist key)))
    (cond ((stringp value) value)
          ((null value) nil)
          ((symbolp value) (bridle-word value))
          ((numberp value) (number-to-string value)))))

(provide 'bridle-read)
;;; bridle-read.el ends here
