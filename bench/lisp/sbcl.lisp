;;;; The SBCL side of `cargo xtask bench reader`: loads a file, then for every line on standard input
;;;; ("read" or "print") does that once and answers with the microseconds it took.
;;;; Collects garbage before each timed step, outside the measurement.

(setf *read-eval* nil
      *print-pretty* nil
      *print-circle* nil
      *print-length* nil
      *print-level* nil)

(defun file-text (path)
  (with-open-file (in path :external-format :utf-8)
    (let* ((text (make-string (file-length in)))
           (end (read-sequence text in)))
      (coerce (subseq text 0 end) '(simple-array character (*))))))

;;; Not `get-internal-real-time', which moves in steps of 4 ms.
(defun micros ()
  (multiple-value-bind (seconds micros) (sb-ext:get-time-of-day)
    (+ (* seconds 1000000) micros)))

(defmacro timed (form)
  `(let ((begin (micros)))
     (values ,form (- (micros) begin))))

(defun serve (path)
  (let* ((text (file-text path))
         (tree (read-from-string text)))
    (format t "ready ~d~%" (length text))
    (finish-output)
    (loop for line = (read-line *standard-input* nil)
          while line
          do (sb-ext:gc :full t)
             (multiple-value-bind (result micros)
                 (if (string= line "read")
                     (timed (read-from-string text))
                     (timed (prin1-to-string tree)))
               (format t "~d ~d~%" micros (length result))
               (finish-output)))))

(serve (car (last sb-ext:*posix-argv*)))
