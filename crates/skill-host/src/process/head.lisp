;;; Skills in SBCL: what the definitions of skills need of the language of the daemon. Loaded from the first frame.

(defpackage :bridle
  (:use :cl)
  (:shadow #:random)
  (:export #:defskill #:deftool #:defcommand #:defactuator #:defprovider
           #:act #:result #:done-p #:now #:random #:state #:save-state
           #:json-encode #:json-decode #:sha256 #:regex-match))

(defpackage :bridle-skill
  (:use :cl)
  (:import-from :bridle #:defskill #:deftool #:defcommand #:defactuator #:defprovider))

(in-package :bridle-skill)

(defun %keyword (name) (intern name :keyword))

(let ((count 0))
  (defun %fresh () (make-symbol (format nil "G~a" (incf count)))))

;;; Frames: six digits of length in bytes, then one form.

(defvar *out* (sb-sys:make-fd-stream 1 :output t :input nil :element-type '(unsigned-byte 8) :buffering :full))
(defvar *printed* (make-string-output-stream))

(defun %read-bytes (count)
  (let ((bytes (make-array count :element-type '(unsigned-byte 8))))
    (if (< (read-sequence bytes cl-user::*frames*) count) (sb-ext:exit :code 0 :abort t))
    (sb-ext:octets-to-string bytes :external-format :utf-8)))

(defun %receive ()
  (let ((text (%read-bytes (parse-integer (%read-bytes 6) :radix 16)))
        (*read-eval* nil)
        (*read-default-float-format* 'single-float))
    (read-from-string text)))

(defun %printed-value (value)
  (let ((*print-pretty* nil) (*print-circle* nil) (*print-length* nil) (*print-level* nil) (*print-readably* nil)
        (*print-base* 10) (*print-radix* nil) (*print-escape* t) (*print-case* :downcase)
        (*package* (find-package :bridle-skill)))
    (prin1-to-string value)))

(defun %send (value)
  (let ((bytes (sb-ext:string-to-octets (%printed-value value) :external-format :utf-8)))
    (if (> (length bytes) #xffffff) (error "a value of ~a bytes is too large" (length bytes)))
    (write-sequence (sb-ext:string-to-octets (format nil "~6,'0x" (length bytes)) :external-format :latin-1) *out*)
    (write-sequence bytes *out*)
    (finish-output *out*)))

(defun %output () (get-output-stream-string *printed*))

(defvar *may-wait* nil)

(defun %host-call (request)
  (if (not *may-wait*) (error "nothing can be asked of the host here"))
  (%send (list :waits request :output (%output)))
  (let ((message (%receive)))
    (if (eq (getf message :do) :resume)
        (getf message :answer)
        (sb-ext:exit :code 2 :abort t))))
