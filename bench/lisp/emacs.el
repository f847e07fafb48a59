;;; emacs.el --- The Emacs side of `cargo xtask bench reader' -*- lexical-binding: t -*-

;; Loads a file, then for every line on standard input ("read" or "print") does that once and answers
;; on standard error (which batch Emacs does not buffer) with the microseconds it took.
;; Collects garbage before each timed step, outside the measurement.

(defun bench-serve (path)
  "Answer requests about the form in the file PATH until standard input ends."
  (let* ((coding-system-for-read 'utf-8)
         (text (with-temp-buffer (insert-file-contents path) (buffer-string)))
         (tree (car (read-from-string text)))
         line)
    (message "ready %d" (length text))
    (while (setq line (ignore-errors (read-from-minibuffer "")))
      (garbage-collect)
      (let* ((begin (current-time))
             (result (if (equal line "read") (car (read-from-string text)) (prin1-to-string tree)))
             (micros (round (* 1e6 (float-time (time-subtract (current-time) begin))))))
        (message "%d %d" micros (length result))))))

(bench-serve (car command-line-args-left))
