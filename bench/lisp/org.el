;;; org.el --- How long org-element takes for a file  -*- lexical-binding: t; -*-

;; Prints the milliseconds of each round on a line:
;;
;;   emacs -Q --batch -l bench/lisp/org.el FILE ROUNDS

;;; Code:

(require 'org)
(require 'org-element)

(let ((file (nth 0 command-line-args-left))
      (rounds (string-to-number (nth 1 command-line-args-left)))
      (org-inhibit-startup t)
      ;; Collecting garbage all the time would be no fair comparison.
      (gc-cons-threshold 500000000))
  (with-temp-buffer
    (insert-file-contents file)
    (org-mode)
    (dotimes (_ rounds)
      (garbage-collect)
      (let ((start (float-time)))
        (org-element-parse-buffer)
        (princ (format "%.3f\n" (* 1000 (- (float-time) start))))))))
(setq command-line-args-left nil)

;;; org.el ends here
