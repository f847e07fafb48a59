;;;; JSON, as much of it as the vector files need: `run-vectors.lisp' reads and writes JSON lines with it.
;;;;
;;;; An object is an alist with string keys in order, an array a vector, null :null, the truth values :true and
;;;; :false.  Numbers are integers: the vectors hold no others.

(defpackage :bridle-json
  (:use :cl)
  (:export #:parse #:field #:write-object))
(in-package :bridle-json)

(defvar *text*)
(defvar *at*)

(defun peek () (char *text* *at*))

(defun skip-blanks ()
  (loop while (and (< *at* (length *text*)) (find (peek) '(#\Space #\Tab #\Newline #\Return)))
        do (incf *at*)))

(defun expect (wanted)
  (skip-blanks)
  (unless (char= (peek) wanted) (error "JSON: expected ~a at ~d, got ~a" wanted *at* (peek)))
  (incf *at*))

(defun next-is (wanted)
  (skip-blanks)
  (when (char= (peek) wanted) (incf *at*)))

(defun code-unit ()
  (prog1 (parse-integer *text* :start *at* :end (+ *at* 4) :radix 16)
    (incf *at* 4)))

(defun escaped ()
  "The character after a backslash; surrogate pairs make one."
  (let ((letter (peek)))
    (incf *at*)
    (case letter
      (#\n #\Newline) (#\t #\Tab) (#\r #\Return) (#\b #\Backspace) (#\f #\Page)
      (#\u (let ((unit (code-unit)))
             (cond ((<= #xD800 unit #xDBFF)
                    (incf *at* 2)
                    (code-char (+ #x10000 (ash (- unit #xD800) 10) (- (code-unit) #xDC00))))
                   (t (code-char unit)))))
      (t letter))))

(defun string-value ()
  (expect #\")
  (with-output-to-string (out)
    (loop for character = (peek)
          do (incf *at*)
             (case character
               (#\" (return))
               (#\\ (write-char (escaped) out))
               (t (write-char character out))))))

(defun members (close item)
  (if (next-is close)
      '()
      (loop collect (funcall item)
            until (next-is close)
            do (expect #\,))))

(defun value ()
  (skip-blanks)
  (case (peek)
    (#\" (string-value))
    (#\{ (incf *at*)
     (members #\} (lambda ()
                    (skip-blanks)
                    (let ((key (string-value)))
                      (expect #\:)
                      (cons key (value))))))
    (#\[ (incf *at*) (coerce (members #\] #'value) 'vector))
    (t (word-or-number))))

(defun word-or-number ()
  (let* ((end (or (position-if (lambda (c) (find c ",]} ")) *text* :start *at*) (length *text*)))
         (word (subseq *text* *at* end)))
    (setf *at* end)
    (cond ((string= word "true") :true)
          ((string= word "false") :false)
          ((string= word "null") :null)
          (t (parse-integer word)))))

(defun parse (text)
  (let ((*text* text) (*at* 0)) (value)))

(defun field (object name)
  "The value of NAME in OBJECT; nil when it is missing or null."
  (let ((value (cdr (assoc name object :test #'string=))))
    (if (eq value :null) nil value)))

(defun write-text (text out)
  "TEXT as a JSON string, ASCII only, so that every peer's record is the same bytes for the same text."
  (write-char #\" out)
  (loop for character across text
        for code = (char-code character)
        do (cond ((find character "\"\\") (write-char #\\ out) (write-char character out))
                 ((<= 32 code 126) (write-char character out))
                 ((< code #x10000) (format out "\\u~(~4,'0x~)" code))
                 (t (let ((rest (- code #x10000)))
                      (format out "\\u~(~4,'0x~)\\u~(~4,'0x~)"
                              (+ #xD800 (ash rest -10)) (+ #xDC00 (logand rest #x3FF)))))))
  (write-char #\" out))

(defun write-object (entries out)
  "ENTRIES, a plist of names and texts, as one line; entries without a text are left out."
  (write-char #\{ out)
  (loop with first = t
        for (name text) on entries by #'cddr
        when text
          do (unless first (write-char #\, out))
             (setf first nil)
             (write-text name out)
             (write-char #\: out)
             (if (symbolp text) (format out "~(~a~)" text) (write-text text out)))
  (write-char #\} out)
  (terpri out))
