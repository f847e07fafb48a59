;;;; The Harness Protocol as a Common Lisp program sees it: a peer for bridle's tests.
;;;;
;;;; Written from the prose of the protocol documents, not from bridle's Rust: when both sides agree, two
;;;; independent readings of the same documents agree.  The tests run it as a client, as a server and as a
;;;; filter; `run-vectors.lisp` loads it as a library; the benchmark uses `serve` as the thread-per-connection
;;;; rival.  It is no product: it trusts its input's size and blocks where it likes.
;;;;
;;;; Commands, from the repository root (Debian: sbcl, cl-ironclad, cl-usocket):
;;;;
;;;;   sbcl --script peers/sbcl/harness.lisp serve PORT [OPTIONS]      PORT 0 picks one; prints `ready PORT'
;;;;   sbcl --script peers/sbcl/harness.lisp talk PORT [OPTIONS]       forms on stdin, answers on stdout
;;;;   sbcl --script peers/sbcl/harness.lisp encode [OPTIONS]          forms on stdin, frames on stdout
;;;;   sbcl --script peers/sbcl/harness.lisp decode [OPTIONS]          frames on stdin, forms on stdout
;;;;   sbcl --script peers/sbcl/harness.lisp warm                      compile the libraries, then leave
;;;;
;;;;   --dialect 000|001|002|003  the document whose framing to follow (default 002)
;;;;   --pipeline                 talk: send everything, then read the answers
;;;;   --fragment N               talk: write N bytes at a time, flushing each
;;;;   --no-hello                 talk: the server does not speak first
;;;;
;;;; The dialects:
;;;;   000  lower-case digits, counts characters, HMAC when HARNESS_PROTOCOL_ENFORCE_HMAC is "true"
;;;;   001  upper-case digits, counts characters, strips live objects; blanks between frames are an error
;;;;   002  as 001, and skips space, newline, tab and return between frames
;;;;   003  lower-case digits, counts UTF-8 bytes as the prose says; HMAC as 000, over the UTF-8 bytes
;;;;
;;;; ASDF needs to be told where Debian keeps the sources, because --script reads no init file.  The first load
;;;; compiles ironclad into ~/.cache/common-lisp (about 35 s of one core); later ones take half a second.

(require :asdf)

(setf sb-impl::*default-external-format* :utf-8
      sb-alien::*default-c-string-external-format* :utf-8)

(unless (find-package :ironclad)
  (asdf:initialize-source-registry
   '(:source-registry (:tree "/usr/share/common-lisp/source/") :inherit-configuration))
  (let ((*standard-output* (make-broadcast-stream))
        (*error-output* (make-broadcast-stream)))
    (handler-bind ((warning #'muffle-warning))
      (asdf:load-system :ironclad)
      (asdf:load-system :usocket))))

(defpackage :bridle-peer
  (:use :cl)
  (:export #:*dialect* #:*key* #:*sign-characters* #:counts-bytes-p #:frame-text #:frame-message #:frame-octets #:sanitize
           #:read-frame-text #:read-frame-text-from-octets #:read-framed-message #:read-form #:print-form
           #:proto-get #:hello #:health #:bad-frame #:signature #:utf-8 #:arguments #:option))
(in-package :bridle-peer)

(defvar *dialect* :002 "The document whose framing is followed: :000, :001, :002 or :003.")

(define-condition bad-frame (error)
  ((reason :initarg :reason))
  (:report (lambda (condition stream) (format stream "bad frame: ~a" (slot-value condition 'reason)))))

(defun bad-frame (control &rest arguments)
  (error 'bad-frame :reason (apply #'format nil control arguments)))

(defun counts-bytes-p () (eq *dialect* :003))

(defun utf-8 (text) (sb-ext:string-to-octets text :external-format :utf-8))

;;; Text and forms

(defun read-form (text)
  "The first form of TEXT and where it ends.  Nothing is evaluated while reading."
  (with-standard-io-syntax
    (let ((*read-eval* nil)
          (*package* (find-package :bridle-peer.data)))
      (read-from-string text))))

(defun print-form (form)
  "FORM as one printed text, readable again by `read-form'."
  (with-standard-io-syntax
    (let ((*print-pretty* nil)
          (*print-readably* nil)
          (*package* (find-package :bridle-peer.data)))
      (prin1-to-string form))))

(defpackage :bridle-peer.data (:use :cl))

(defun proto-get (plist key)
  "The value after the first keyword of PLIST that is KEY, whatever its case."
  (loop for rest = plist then (cddr rest)
        while (and (consp rest) (consp (cdr rest)))
        when (and (keywordp (car rest)) (string-equal (car rest) key))
          do (return (cadr rest))))

(defun sanitize (form)
  "FORM without the entries that hold live objects.  Lists that are no plist are left alone."
  (labels ((plistp (list)
             (loop for rest = list then (cddr rest)
                   while rest
                   always (and (consp rest) (keywordp (car rest)) (consp (cdr rest)))))
           (walk (value)
             (if (and (consp value) (plistp value))
                 (loop for (key item) on value by #'cddr
                       unless (member key '(:reply-stream :socket :stream))
                         collect key and collect (walk item))
                 value)))
    (walk form)))

;;; Signatures

(defvar *key* :environment
  "The octets to sign with, nil to sign nothing, or :environment to do as the variables of 000 say.")

(defvar *sign-characters* :by-dialect
  "What a signature covers: t for one octet a character, nil for UTF-8, or :by-dialect.  :either writes UTF-8 and
reads both.")

(defun key ()
  "The key in force, or nil.  Only 000 and 003 know signatures."
  (cond ((not (eq *key* :environment)) *key*)
        ((not (member *dialect* '(:000 :003))) nil)
        ((string-equal (or (sb-ext:posix-getenv "HARNESS_PROTOCOL_ENFORCE_HMAC") "") "true")
         (utf-8 (or (sb-ext:posix-getenv "HARNESS_PROTOCOL_HMAC_SECRET") "default-insecure-secret")))))

(defun signature (octets key)
  "64 lower-case digits: HMAC-SHA256 of OCTETS under KEY, both octet vectors."
  (flet ((simple (vector) (coerce vector '(simple-array (unsigned-byte 8) (*)))))
    (let ((mac (ironclad:make-mac :hmac (simple key) :sha256)))
      (ironclad:update-mac mac (simple octets))
      (ironclad:byte-array-to-hex-string (ironclad:produce-mac mac)))))

(defun signed-octets (text)
  "The octets that a signature of TEXT covers.  One a character in 000, which fails above U+00FF."
  (if (case *sign-characters*
        (:by-dialect (counts-bytes-p))
        ((nil :either) t))
      (utf-8 text)
      (ironclad:ascii-string-to-byte-array text)))

(defun sign (text) (signature (signed-octets text) (key)))

(defun signed-p (claimed text)
  (or (string-equal claimed (sign text))
      (and (eq *sign-characters* :either)
           (let ((*sign-characters* t)) (string-equal claimed (sign text))))))

;;; Writing frames

(defun frame-text (payload)
  "PAYLOAD with its length before it, and its signature between them where the dialect signs."
  (let ((count (if (counts-bytes-p) (length (utf-8 payload)) (length payload))))
    (when (> count #xFFFFFF) (bad-frame "~d units do not fit six digits" count))
    (let ((digits (format nil "~6,'0x" count)))
      (concatenate 'string
                   (if (member *dialect* '(:001 :002)) digits (string-downcase digits))
                   (if (key) (sign payload) "")
                   payload))))

(defun frame-message (message)
  (frame-text (print-form (if (eq *dialect* :000) message (sanitize message)))))

(defun frame-octets (message) (utf-8 (frame-message message)))

;;; Reading frames
;;;
;;; A source is a character stream for the dialects that count characters, and an octet stream for 003.

(defun blank-p (item)
  (member (if (characterp item) (char-code item) item) '(9 10 13 32)))

(defun take (count source)
  "COUNT units of SOURCE as text, or as many as there are before its end."
  (if (counts-bytes-p)
      (let* ((octets (make-array count :element-type '(unsigned-byte 8)))
             (got (read-sequence octets source)))
        (handler-bind ((error (lambda (condition) (declare (ignore condition)) (bad-frame "not UTF-8"))))
          (sb-ext:octets-to-string octets :end got :external-format :utf-8)))
      (let* ((text (make-string count))
             (got (read-sequence text source)))
        (if (= got count) text (subseq text 0 got)))))

(defun read-digits (source)
  "The six digits of the next frame, or nil at the end of SOURCE."
  (if (counts-bytes-p)
      (let ((text (loop for octet = (read-byte source nil)
                        while octet
                        unless (and (null taken) (blank-p octet))
                          collect (code-char octet) into taken
                        until (= (length taken) 6)
                        finally (return (coerce taken 'string)))))
        (if (plusp (length text)) text nil))
      (progn
        (when (member *dialect* '(:002))
          (loop while (blank-p (peek-char nil source nil #\x)) do (read-char source)))
        (let ((text (take 6 source)))
          (if (plusp (length text)) text nil)))))

(defun parse-digits (text)
  (unless (= (length text) 6) (bad-frame "the stream ends inside a length"))
  (or (if (counts-bytes-p)
          (and (every (lambda (c) (and (< (char-code c) 128) (digit-char-p c 16))) text)
               (parse-integer text :radix 16))
          (ignore-errors (parse-integer text :radix 16)))
      (bad-frame "~s is no length" text)))

(defun read-frame-text (source)
  "The payload of the next frame of SOURCE, or :eof.  Signals `bad-frame'."
  (let ((digits (read-digits source)))
    (unless digits (return-from read-frame-text :eof))
    (let* ((count (parse-digits digits))
           (claimed (when (key) (take 64 source)))
           (text (take count source)))
      (unless (= count (if (counts-bytes-p) (length (utf-8 text)) (length text)))
        (bad-frame "the stream ends inside a frame of ~d units" count))
      (when (zerop count) (bad-frame "empty"))
      (when (and claimed (not (signed-p claimed text))) (bad-frame "wrong signature"))
      text)))

(defun read-framed-message (source)
  "The next message of SOURCE, or :eof, or :error."
  (handler-case
      (let ((text (read-frame-text source)))
        (if (eq text :eof) :eof (values (read-form text))))
    (error () :error)))

;;; Messages

(defun hello (version)
  (list :type :event
        :payload (list :action :handshake :version version :capabilities (list :auth :org-ast))))

(defun health ()
  (list :type :health-response :status :healthy :checked-p t))

(defun answer (message)
  "The one answer that `serve' gives to MESSAGE."
  (cond ((not (listp message)) (problem nil :invalid-message))
        ((string-equal (princ-to-string (proto-get message :type)) "health-check") (health))
        ((proto-get message :type)
         (list :type :response :id (proto-get message :id)
               :payload (list :status :success :action :message
                              :text (print-form (proto-get message :payload)))))
        (t (problem (proto-get message :id) :invalid-message))))

(defun problem (id code)
  (list :type :response :id id :payload (list :status :error :code code)))

;;; Connections

(defun element-type () (if (counts-bytes-p) '(unsigned-byte 8) 'character))

(defun put (message stream)
  (if (counts-bytes-p)
      (write-sequence (frame-octets message) stream)
      (write-string (frame-message message) stream))
  (finish-output stream))

(defun serve-connection (socket)
  (unwind-protect
       (handler-case
           (let ((stream (usocket:socket-stream socket)))
             (put (hello "0.2.0") stream)
             (loop for message = (read-framed-message stream)
                   until (member message '(:eof :error))
                   do (put (answer message) stream)))
         (error () nil))
    (ignore-errors (usocket:socket-close socket))))

(defun serve (port)
  "Accepts for ever on 127.0.0.1:PORT, one thread a connection."
  (let ((listener (usocket:socket-listen "127.0.0.1" port :reuse-address t :backlog 1024
                                                          :element-type (element-type)))
        (dialect *dialect*))
    (format t "ready ~d~%" (usocket:get-local-port listener))
    (finish-output)
    (loop
      (let ((socket (usocket:socket-accept listener)))
        ;; Otherwise pipelined answers wait 40 ms for the peer's delayed acknowledgments.
        (setf (sb-bsd-sockets:sockopt-tcp-nodelay (usocket:socket socket)) t)
        (sb-thread:make-thread (lambda ()
                                 (let ((*dialect* dialect)) (serve-connection socket))))))))

(defun call-with-connection (port function)
  (let ((socket (usocket:socket-connect "127.0.0.1" port :element-type (element-type) :nodelay t)))
    (unwind-protect (funcall function (usocket:socket-stream socket))
      (ignore-errors (usocket:socket-close socket)))))

(defun put-in-fragments (message size socket-stream)
  "Writes the octets of MESSAGE SIZE at a time past the stream's own buffer, so that each is one write."
  (let ((octets (frame-octets message))
        (raw (sb-sys:make-fd-stream (sb-sys:fd-stream-fd socket-stream) :output t :input nil
                                    :element-type '(unsigned-byte 8) :buffering :full)))
    (loop for start from 0 below (length octets) by size
          do (write-sequence octets raw :start start :end (min (length octets) (+ start size)))
             (finish-output raw))))

(defun take-answer (stream)
  (let ((text (read-frame-text stream)))
    (if (eq text :eof)
        (error "the server closed the connection before its answer")
        (say (read-form text)))))

(defun talk (port forms &key pipeline fragment (hello t))
  "Sends every form of FORMS, prints every answer: as many answers as forms, no more, no fewer."
  (call-with-connection
   port
   (lambda (stream)
     (flet ((send (form)
              (if fragment (put-in-fragments form fragment stream) (put form stream))))
       (when hello (take-answer stream))
       (cond (pipeline
              ;; A second thread reads, so that neither side waits for the other with full buffers.
              (let* ((dialect *dialect*)
                     (out *standard-output*)
                     (reader (sb-thread:make-thread
                              (lambda ()
                                (let ((*dialect* dialect) (*standard-output* out))
                                  (loop repeat (length forms) do (take-answer stream)))))))
                (mapc #'send forms)
                (sb-thread:join-thread reader)))
             (t (dolist (form forms) (send form) (take-answer stream))))))))

;;; Command line

(defun say (form)
  (write-line (print-form form))
  (finish-output))

(defun all-forms (text)
  "Every form of TEXT, in order."
  (with-standard-io-syntax
    (let ((*read-eval* nil)
          (*package* (find-package :bridle-peer.data)))
      (with-input-from-string (in text)
        (loop for form = (read in nil in)
              until (eq form in)
              collect form)))))

(defun binary (fd &rest direction)
  (apply #'sb-sys:make-fd-stream fd :element-type '(unsigned-byte 8) :buffering :full direction))

(defun characters (fd &rest direction)
  (apply #'sb-sys:make-fd-stream fd :element-type 'character :external-format :utf-8 :buffering :full direction))

(defun slurp ()
  (with-output-to-string (out)
    (let ((in (characters 0 :input t))
          (chunk (make-string 65536)))
      (loop for got = (read-sequence chunk in)
            while (plusp got)
            do (write-string chunk out :end got)))))

(defun encode-stdin ()
  (let ((out (binary 1 :output t :input nil)))
    (dolist (form (all-forms (slurp)))
      (write-sequence (frame-octets form) out))
    (finish-output out)))

(defun decode-stdin ()
  (let ((in (if (counts-bytes-p) (binary 0 :input t) (characters 0 :input t))))
    (loop for text = (read-frame-text in)
          until (eq text :eof)
          do (say (read-form text)))))

(defun option (name arguments)
  (second (member name arguments :test #'string=)))

(defun main (arguments)
  (let ((*dialect* (intern (or (option "--dialect" arguments) "002") :keyword))
        (*standard-output* (characters 1 :output t :input nil))
        (command (first arguments)))
    (unless (member *dialect* '(:000 :001 :002 :003)) (error "no dialect ~a" *dialect*))
    (flet ((port () (parse-integer (second arguments))))
      (cond ((equal command "serve") (serve (port)))
            ((equal command "talk")
             (talk (port) (all-forms (slurp))
                   :pipeline (member "--pipeline" arguments :test #'string=)
                   :hello (not (member "--no-hello" arguments :test #'string=))
                   :fragment (let ((size (option "--fragment" arguments)))
                               (and size (parse-integer size)))))
            ((equal command "encode") (encode-stdin))
            ((equal command "decode") (decode-stdin))
            ((equal command "warm") nil)
            (t (error "expected serve, talk, encode, decode or warm, got ~a" command))))))

(defun arguments ()
  "What the caller wrote after the script's name.  Some SBCLs leave `--script FILE' in the list, some do not."
  (let ((words (rest sb-ext:*posix-argv*)))
    (if (equal (first words) "--script") (cddr words) words)))

(defun run-as-script ()
  (handler-case (main (arguments))
    (error (condition)
      (format *error-output* "harness: ~a~%" condition)
      (sb-ext:exit :code 1 :abort t))))

;; `run-vectors.lisp' binds this before it loads the file as a library.
(unless (boundp 'cl-user::*harness-as-library*)
  (run-as-script))
