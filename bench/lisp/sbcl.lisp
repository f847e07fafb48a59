;;;; The SBCL side of `cargo xtask bench reader`: loads a file, then for every line on standard input
;;;; ("read" or "print") does that twice and answers with the nanoseconds of the second time.
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

;;; The walk that every reader has to follow with: each value is seen, each text and number used.
(defun visit (tree)
  (declare (optimize (speed 3) (safety 1)))
  (let ((nodes 0) (characters 0) (integers 0))
    (declare (fixnum nodes characters integers))
    (labels ((walk (value)
               (incf nodes)
               (typecase value
                 (cons (dolist (element value) (walk element)))
                 (null)
                 ((simple-array character (*)) (incf characters (length value)))
                 (simple-base-string (incf characters (length value)))
                 (fixnum (incf integers value))
                 (symbol (incf characters (length (symbol-name value)))))))
      (walk tree))
    (list nodes characters integers)))

(defun once (word text tree)
  (timed (if (string= word "read") (visit (read-from-string text)) (prin1-to-string tree))))

(defun serve (path)
  (let* ((text (file-text path))
         (tree (read-from-string text)))
    (format t "ready~%")
    (finish-output)
    (loop for line = (read-line *standard-input* nil)
          while line
          do (once line text tree)
             (sb-ext:gc :full t)
             (format t "~d 0~%" (* 1000 (nth-value 1 (once line text tree))))
             (finish-output))))

(serve (car (last sb-ext:*posix-argv*)))
