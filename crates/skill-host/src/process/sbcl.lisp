;;; The requests of a skill over the frames of a process, for SBCL; before this stands the part of the language that every
;;; runtime shares. A frame is six hexadecimal digits, the number of bytes, and one form as UTF-8.

(defvar *%input* (sb-sys:make-fd-stream 0 :input t :buffering :full :element-type '(unsigned-byte 8)))
(defvar *%output* (sb-sys:make-fd-stream 1 :output t :buffering :full :element-type '(unsigned-byte 8)))
(defvar *%call* nil "Number of the call that runs.")
(defvar *%next* nil "Frame that came instead of an answer.")
(defvar *%globals* nil "Variables of the program, with the values that loading left.")

(defun %take (count)
  (let ((octets (make-array count :element-type '(unsigned-byte 8))))
    (when (< (read-sequence octets *%input*) count) (sb-ext:exit :code 0 :abort t))
    (sb-ext:octets-to-string octets :external-format :utf-8)))

(defun %read-frame ()
  (or (shiftf *%next* nil)
      (let ((text (%take (parse-integer (%take 6) :radix 16)))
            (*read-eval* nil) (*package* (find-package :bridle-user)))
        (read-from-string text))))

(defun %write-frame (form)
  (let* ((text (let ((*package* (find-package :bridle-user)) (*print-case* :downcase) (*print-pretty* nil))
                 (prin1-to-string form)))
         (octets (sb-ext:string-to-octets text :external-format :utf-8)))
    (write-sequence (sb-ext:string-to-octets (format nil "~(~6,'0x~)" (length octets))) *%output*)
    (write-sequence octets *%output*)
    (finish-output *%output*)))

(defun %host-call (request)
  (let ((call *%call*))
    (if (null call) (error "nothing is asked of the host while it loads"))
    (%write-frame (list :ask call :request request))
    (let ((frame (%read-frame)))
      (if (eql (getf frame :answer) call)
          (getf frame :value)
          (progn (setq *%next* frame *%call* nil) (throw '%dropped nil))))))

(defun %message (condition)
  (let ((text (remove #\Nul (princ-to-string condition))))
    (format nil "~a: ~a" (type-of condition) text)))

(defun %load (text)
  (let ((*package* (find-package :bridle-user)) (*standard-output* (make-broadcast-stream))
        (*error-output* (make-broadcast-stream)) (end (list nil)) (at 0))
    (handler-case
        (with-input-from-string (in text)
          (loop
            (setq at (file-position in))
            (let ((form (read in nil end)))
              (if (eq form end) (return))
              (handler-bind ((warning #'muffle-warning)) (eval form))))
          (do-symbols (name :bridle-user)
            (if (and (eq (symbol-package name) *package*) (boundp name) (not (constantp name))
                     (not (search "*%" (symbol-name name))))
                (push (cons name (symbol-value name)) *%globals*)))
          (%write-frame (list :parts (%skill-parts))))
      (error (condition)
        (%write-frame (list :failed t :message (%message condition)
                            :line (1+ (count #\Newline text :end (position-if-not #'%blank text :start at)))))))))

(defun %blank (char) (member char '(#\Space #\Newline #\Tab)))

(defun %form (source)
  (let ((values (multiple-value-list (eval (read-from-string source))))
        (*print-case* :upcase) (*print-pretty* nil))
    (mapcar #'prin1-to-string values)))

(defun %answer-call (frame)
  (loop for (name . value) in *%globals*
        do (setf (symbol-value name) (if (consp value) (copy-tree value) value)))
  (setq *%call* (getf frame :call))
  (catch '%dropped
    (let ((*package* (find-package :bridle-user)) (number *%call*) (printed (make-string-output-stream)))
      (handler-case
          (let ((value (let ((*standard-output* printed))
                         (if (eq (getf frame :kind) :form)
                             (%form (getf frame :name))
                             (%skill-run (getf frame :kind) (getf frame :name) (getf frame :arguments))))))
            (setq *%call* nil)
            (%write-frame (list :done number :value value :output (get-output-stream-string printed))))
        (sb-sys:interactive-interrupt () (sb-ext:exit :code 1 :abort t))
        (serious-condition (condition)
          (setq *%call* nil)
          (%write-frame (list :failed number :message (%message condition)
                              :output (get-output-stream-string printed))))))))

(defun %serve ()
  (loop
    (let ((frame (%read-frame)))
      (cond ((getf frame :load) (%load (getf frame :load)))
            ((getf frame :call) (%answer-call frame))))))
