;;;; Runs every vector of vectors/{sexp,frame,message} through SBCL's own reader, printer and framing.
;;;;
;;;;   sbcl --script peers/sbcl/run-vectors.lisp [--record DIR] [--vectors DIR]
;;;;
;;;; from the repository root.  The last line is `N passed, M failed'; the exit code is 1 when M is not 0.
;;;; --record DIR writes what SBCL did with each vector to DIR/{sexp,frame,message}/peers/sbcl.jsonl
;;;; (`--record vectors' renews the committed ones); only stable facts, no condition texts, no addresses.
;;;;
;;;; What must hold, and what is only recorded, is written in vectors/README.md.

(defvar cl-user::*harness-as-library* t)
(load (merge-pathnames "json.lisp" *load-truename*))
(load (merge-pathnames "harness.lisp" *load-truename*))

(defpackage :bridle-vectors (:use :cl :bridle-peer))
(in-package :bridle-vectors)

(defparameter +input-limit+ (* 1024 1024)
  "Characters.  Beyond it the vector is about bridle's own limits, and SBCL's stack is not.")

(defparameter +nesting-limit+ 2000
  "Levels.  SBCL's reader recurses and its second stack overflow in one image is fatal.")

(defparameter +printed-limit+ 2000
  "Characters of printed text to record: the record is for people to read in a diff.")

(defvar *passed* 0)
(defvar *failed* 0)

(defun pass () (incf *passed*))

(defun fail (vector control &rest arguments)
  (incf *failed*)
  (format t "FAILED ~a: ~a~%" (bridle-json:field vector "id") (shortened (format nil "~?" control arguments))))

(defun check (vector holds control &rest arguments)
  (if holds (pass) (apply #'fail vector control arguments)))

;;; Files

(defun vector-files (root folder)
  (sort (directory (format nil "~a/~a/*.jsonl" root folder)) #'string< :key #'namestring))

(defun call-with-vectors (root folder function)
  (dolist (file (vector-files root folder))
    (with-open-file (in file :external-format :utf-8)
      (loop for line = (read-line in nil)
            while line
            when (plusp (length line))
              do (funcall function (bridle-json:parse line))))))

(defun from-hex (digits)
  (let ((octets (make-array (floor (length digits) 2) :element-type '(unsigned-byte 8))))
    (dotimes (index (length octets) octets)
      (setf (aref octets index)
            (parse-integer digits :start (* 2 index) :end (* 2 (1+ index)) :radix 16)))))

(defun repeated (pieces)
  "PIECES is a vector of texts and counts by turns."
  (with-output-to-string (out)
    (loop for index from 0 below (length pieces) by 2
          do (loop repeat (aref pieces (1+ index))
                   do (write-string (aref pieces index) out)))))

(defun input-size (vector)
  (let ((pieces (bridle-json:field vector "in_repeat")))
    (if pieces
        (loop for index from 0 below (length pieces) by 2
              sum (* (length (aref pieces index)) (aref pieces (1+ index))))
        (length (or (bridle-json:field vector "in") (bridle-json:field vector "in_hex"))))))

(defun input-octets (vector)
  (let ((text (bridle-json:field vector "in"))
        (hex (bridle-json:field vector "in_hex"))
        (pieces (bridle-json:field vector "in_repeat")))
    (cond (text (utf-8 text))
          (hex (from-hex hex))
          (t (utf-8 (repeated pieces))))))

(defun input-text (vector)
  "The input as text, or nil if it is not UTF-8."
  (let ((octets (input-octets vector)))
    (handler-case
        (let ((text (sb-ext:octets-to-string octets :external-format :utf-8)))
          (and (equalp (utf-8 text) octets) text))
      (error () nil))))

;;; sexp

(defun bomb-p (text)
  "A dispatch macro with a count of seven digits or more makes SBCL allocate that many elements."
  (loop for start = (position #\# text) then (position #\# text :start (1+ start))
        while start
        for end = (or (position-if-not #'digit-char-p text :start (1+ start)) (length text))
        thereis (and (> (- end start) 7) (< end (length text)) (find (char text end) "*(Aa"))))

(defun nesting (text)
  "At least the depth of TEXT; strings and comments are taken for structure too."
  (let ((depth 0) (deepest 0))
    (loop for character across text
          do (cond ((find character "([") (incf depth))
                   ((find character ")]") (decf depth))
                   ((find character "'`,") (incf deepest)))
             (setf deepest (max deepest depth)))
    deepest))

(defun print-shared (form)
  "One printed text; shared structure and cycles are labelled, so that printing ends."
  (with-standard-io-syntax
    (let ((*print-pretty* nil) (*print-readably* nil) (*print-circle* t)
          (*package* (find-package :bridle-peer.data)))
      (prin1-to-string form))))

(defun only-form-p (text start)
  "Whether nothing but blanks and comments follows START."
  (handler-case (progn (with-standard-io-syntax
                         (let ((*read-eval* nil)) (read-from-string text t nil :start start)))
                       nil)
    (end-of-file () t)
    (error () nil)))

(defun read-text (text)
  "The verdict on TEXT, accept, prefix (a form and something after it) or error, and what SBCL prints."
  (if (null text)
      (values "error" nil)
      (handler-case
          (multiple-value-bind (form end) (read-form text)
            (values (if (only-form-p text end) "accept" "prefix") (print-shared form)))
        (error () (values "error" nil))
        (storage-condition () (values "error" nil)))))

(defun other-syntax-p (text)
  "SBCL reads [ and ] as letters of a symbol, and keeps objects of its own for a backquote."
  (find-if (lambda (character) (find character "[`")) text))

(defun run-sexp (vector record)
  (let* ((text (and (<= (input-size vector) +input-limit+) (input-text vector)))
         (canonical (bridle-json:field vector "canonical"))
         (bound (cond ((> (input-size vector) +input-limit+) "input over the size limit")
                      ((and text (> (nesting text) +nesting-limit+)) "nesting over the stack")
                      ((and text (bomb-p text)) "resource bomb"))))
    (if bound
        (progn (pass)
               (funcall record "verdict" "bounded" "reason" bound))
        (multiple-value-bind (verdict printed) (read-text text)
          (multiple-value-bind (again printed-again) (and canonical (read-text canonical))
            (let ((same (and canonical (string= verdict "accept") (equal again "accept")
                             (if (string= printed printed-again) :true :false))))
              (check vector
                     (or (not (eq same :false)) (other-syntax-p text)
                         (equal (bridle-json:field vector "dialect") "emacs"))
                     "~s prints as ~a, its canonical ~s as ~a" text printed canonical printed-again)
              (funcall record "verdict" verdict "printed" (shortened printed)
                              "canonical" again "same" same)))))))

(defun shortened (text)
  (if (and text (> (length text) +printed-limit+))
      (format nil "~a... (~d characters)" (subseq text 0 80) (length text))
      text))

;;; frame

(defun call-with-source (octets function)
  "FUNCTION on a stream of OCTETS, of characters or of octets as the dialect reads."
  (uiop:with-temporary-file (:pathname file)
    (with-open-file (out file :direction :output :if-exists :supersede :element-type '(unsigned-byte 8))
      (write-sequence octets out))
    (with-open-file (in file :element-type (if (counts-bytes-p) '(unsigned-byte 8) 'character)
                             :external-format :utf-8)
      (funcall function in))))

(defun frames (octets)
  "The payloads that this peer reads from OCTETS, and how it ended: open or error."
  (let ((texts '()))
    (handler-case
        (call-with-source octets
                          (lambda (source)
                            (loop for text = (read-frame-text source)
                                  until (eq text :eof)
                                  do (push text texts))))
      (error () (return-from frames (values (nreverse texts) "error"))))
    (values (nreverse texts) "open")))

(defun vector-key (vector)
  (let ((text (bridle-json:field vector "key"))
        (hex (bridle-json:field vector "key_hex")))
    (and (bridle-json:field vector "hmac")
         (if hex (from-hex hex) (utf-8 (or text ""))))))

(defun expected-payloads (vector)
  "The payloads before the first refusal."
  (loop for item across (bridle-json:field vector "out")
        for payload = (bridle-json:field item "payload")
        while payload
        collect payload))

(defun clean-p (vector)
  "Whether bridle reads the whole input without a complaint."
  (and (string= (bridle-json:field vector "end") "open")
       (every (lambda (item) (bridle-json:field item "payload")) (bridle-json:field vector "out"))))

(defun with-unit (unit key function &optional (characters :002))
  "Calls FUNCTION as a peer that counts UNIT and reads either signature.
CHARACTERS is the dialect that stands for those that count characters."
  (let ((*dialect* (if (string= unit "bytes") :003 characters))
        (*key* key)
        (*sign-characters* :either))
    (funcall function)))

(defun decodes-p (unit vector octets)
  (with-unit unit (vector-key vector)
    (lambda ()
      (multiple-value-bind (texts end) (frames octets)
        (and (equal texts (expected-payloads vector))
             (string= end (if (clean-p vector) "open" "error")))))))

(defun mixed-p (vector)
  "Whether the first frame counts in the other unit than the one that the stream settles on: it fits both, bridle
reads it, and no reader that knows one unit reads the stream."
  (let ((text (bridle-json:field vector "in"))
        (first (first (expected-payloads vector)))
        (after (bridle-json:field vector "unit_after")))
    (and text first after
         (null (bridle-json:field vector "unit"))
         (let ((announced (ignore-errors (parse-integer text :end 6 :radix 16)))
               (bytes (length (utf-8 first)))
               (chars (length first)))
           (and (/= bytes chars)
                (eql announced (if (string= after "chars") bytes chars)))))))

(defun run-decode (vector record)
  (let* ((octets (input-octets vector))
         (bytes (decodes-p "bytes" vector octets))
         (chars (decodes-p "chars" vector octets))
         (unit (or (bridle-json:field vector "unit_after") (bridle-json:field vector "unit"))))
    (check vector
           (cond ((or (not (clean-p vector)) (mixed-p vector)) t)
                 ((equal unit "bytes") bytes)
                 ((equal unit "chars") chars)
                 (t (or bytes chars)))
           "does not decode as bridle does (bytes ~a, chars ~a)" bytes chars)
    (funcall record "verdict" (if (or bytes chars) "accept" "error")
                    "bytes" (if bytes :true :false) "chars" (if chars :true :false))))

(defun payload-text (vector)
  (let ((text (bridle-json:field vector "payload"))
        (pieces (bridle-json:field vector "payload_repeat")))
    (cond (text text)
          (pieces (repeated pieces))
          (t (input-text vector)))))

(defun encodes-p (unit vector payload out)
  (with-unit unit (vector-key vector)
    (lambda () (string= out (handler-case (frame-text payload) (error () ""))))
    :000))

(defun reads-back-p (unit vector payload out)
  "Padding: written while the unit is unknown, and read as PAYLOAD by either kind of reader."
  (with-unit unit (vector-key vector)
    (lambda ()
      (equal (mapcar (lambda (text) (string-right-trim " " text)) (frames (utf-8 out)))
             (list (string-right-trim " " payload))))))

(defun written-unit (vector)
  "The unit of what bridle writes, or nil where it pads so that readers of either unit read it."
  (let ((open (bridle-json:field vector "unknown_unit")))
    (cond ((bridle-json:field vector "unit"))
          ((and open (string/= open "pad")) open)
          ((bridle-json:field vector "hmac") "bytes"))))

(defun run-encode (vector record)
  (let* ((payload (payload-text vector))
         (out (bridle-json:field vector "out"))
         (unit (written-unit vector))
         (test (if unit #'encodes-p #'reads-back-p)))
    (if (null out)
        (let ((refuses (handler-case (let ((*dialect* :003)) (frame-text payload) nil) (error () t))))
          (pass)
          (funcall record "verdict" (if refuses "error" "accept")))
        (let ((bytes (funcall test "bytes" vector payload out))
              (chars (funcall test "chars" vector payload out)))
          (check vector
                 (cond ((equal unit "bytes") bytes)
                       ((equal unit "chars") chars)
                       (t (and bytes chars)))
                 "bytes ~a, chars ~a for ~s" bytes chars (shortened out))
          (funcall record "verdict" (if (or bytes chars) "accept" "error")
                          "bytes" (if bytes :true :false) "chars" (if chars :true :false))))))

(defun run-frame (vector record)
  (if (string= (bridle-json:field vector "do") "encode")
      (run-encode vector record)
      (run-decode vector record)))

;;; message

(defun message-type (text)
  "The name of the message's type, or nil if SBCL cannot read it or finds none."
  (let ((form (handler-case (read-form text) (error () nil))))
    (and (consp form)
         (let ((type (proto-get form :type))) (and type (symbolp type) (symbol-name type))))))

(defun run-message (vector record)
  (let* ((text (input-text vector))
         (type (and text (message-type text)))
         (wanted (bridle-json:field vector "type"))
         (reply (bridle-json:field vector "reply"))
         (written (bridle-json:field vector "written")))
    (check vector
           (or (not (string= (bridle-json:field vector "verdict") "accept"))
               (and type wanted (string-equal type wanted)))
           "type ~a, expected ~a" type wanted)
    (when reply
      (check vector (message-type reply) "its reply ~s has no type" reply))
    (when written
      (check vector (equalp (message-type written) type) "its type is lost in ~s" written))
    (multiple-value-bind (verdict printed) (read-text text)
      (funcall record "verdict" verdict "type" type "printed" (shortened printed)))))

;;; All of it

(defun run-folder (root folder runner record-root)
  (with-open-stream (out (if record-root
                             (open (ensure-directories-exist
                                    (format nil "~a/~a/peers/sbcl.jsonl" record-root folder))
                                   :direction :output :if-exists :supersede :external-format :utf-8)
                             (make-broadcast-stream)))
    (call-with-vectors root folder
                       (lambda (vector)
                         (funcall runner vector
                                  (lambda (&rest entries)
                                    (bridle-json:write-object
                                     (list* "id" (bridle-json:field vector "id") entries) out)))))))

(defun main (arguments)
  (let ((root (or (option "--vectors" arguments) "vectors"))
        (record-root (option "--record" arguments)))
    (run-folder root "sexp" #'run-sexp record-root)
    (run-folder root "frame" #'run-frame record-root)
    (run-folder root "message" #'run-message record-root)
    (format t "~d passed, ~d failed~%" *passed* *failed*)
    (finish-output)
    (sb-ext:exit :code (if (zerop *failed*) 0 1) :abort t)))

(main (arguments))
