;;; emacs.el --- The Emacs side of `cargo xtask bench reader' -*- lexical-binding: t -*-

;; Loads a file, then for every line on standard input ("read" or "print") does that twice and answers on
;; standard error (which batch Emacs does not buffer) with the nanoseconds of the second time.
;; Collects garbage before each timed step, outside the measurement.

;; The walk that every reader has to follow with: each value is seen, each text and number used.
(defvar bench-nodes 0)
(defvar bench-characters 0)
(defvar bench-integers 0)

(defun bench-walk (value)
  "Add VALUE and what is inside it to the sums."
  (setq bench-nodes (1+ bench-nodes))
  (cond ((consp value) (while value (bench-walk (car value)) (setq value (cdr value))))
        ((stringp value) (setq bench-characters (+ bench-characters (length value))))
        ((integerp value) (setq bench-integers (+ bench-integers value)))
        ((null value))
        (t (setq bench-characters (+ bench-characters (length (symbol-name value)))))))

(byte-compile 'bench-walk)

(defun bench-once (word text tree)
  "Read TEXT or print TREE, as WORD says, and return the nanoseconds it took."
  (let ((begin (current-time)))
    (if (equal word "read")
        (bench-walk (car (read-from-string text)))
      (prin1-to-string tree))
    (round (* 1e9 (float-time (time-subtract (current-time) begin))))))

(defun bench-serve (path)
  "Answer requests about the form in the file PATH until standard input ends."
  (let* ((coding-system-for-read 'utf-8)
         (text (with-temp-buffer (insert-file-contents path) (buffer-string)))
         (tree (car (read-from-string text)))
         line)
    (message "ready")
    (while (setq line (ignore-errors (read-from-minibuffer "")))
      (bench-once line text tree)
      (garbage-collect)
      (message "%d 0" (bench-once line text tree)))))

(bench-serve (car command-line-args-left))
