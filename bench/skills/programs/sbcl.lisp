;;;; SBCL's side: loads the programs compiled, runs each as often as the first argument says, and prints a line with
;;;; the program's name, its answer and the microseconds of processor time of each run.

(setf sb-ext:*evaluator-mode* :compile)
(declaim (sb-ext:muffle-conditions warning sb-ext:compiler-note))
(let* ((arguments (cdr sb-ext:*posix-argv*))
       (rounds (parse-integer (first (last arguments))))
       (source (merge-pathnames "programs.lisp" (or *load-truename* *default-pathname-defaults*))))
  (load source)
  (dolist (name '(run-fib run-list run-string run-hash))
    (let ((answer (funcall name)))
      (format t "~(~a~) ~d" name answer)
      (dotimes (i rounds)
        (sb-ext:gc)
        (let ((begin (get-internal-run-time)))
          (funcall name)
          (format t " ~d" (round (* 1000000 (- (get-internal-run-time) begin)) internal-time-units-per-second))))
      (terpri))))
