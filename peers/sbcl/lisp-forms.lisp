;;; Evaluates forms, one a line of stdin, and prints for each one line: what it printed, then its
;;; values, or the category of its condition. `cargo xtask peers lisp` compares them with bridle's.

(setf *print-pretty* nil)
;; The last argument of the program: `compile` as users' SBCL does, or `interpret`, which is quicker.
(setf sb-ext:*evaluator-mode*
      (if (equal (car (last sb-ext:*posix-argv*)) "interpret") :interpret :compile))
(declaim (sb-ext:muffle-conditions warning sb-ext:compiler-note))

(defpackage :bridle (:use))

(defun category (condition)
  (loop for type in '(division-by-zero arithmetic-error unbound-variable undefined-function
                      end-of-file reader-error parse-error type-error program-error control-error
                      package-error storage-condition)
        when (typep condition type) return type
        finally (return (if (typep condition 'error) 'error 'condition))))

(defun escape (text)
  (with-output-to-string (out)
    (loop for c across text
          do (case c (#\Newline (write-string "\\n" out)) (#\\ (write-string "\\\\" out))
               (t (write-char c out))))))

(defun run (line)
  (let* ((output (make-string-output-stream))
         (result
           (handler-case
               (sb-ext:with-timeout 5
                 (let* ((*standard-output* output) (*error-output* (make-broadcast-stream))
                        (*gensym-counter* 1)
                        (values (multiple-value-list (eval (read-from-string line)))))
                   (format nil "~{~s~^ ; ~}" values)))
             (sb-ext:timeout () "!TIMEOUT")
             (serious-condition (c) (format nil "!~a" (category c))))))
    (format t "~a|~a~%" (escape (get-output-stream-string output)) (escape result))
    (finish-output)))

(loop for line = (read-line *standard-input* nil)
      while line do (run line))
