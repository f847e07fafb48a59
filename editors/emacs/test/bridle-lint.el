;;; bridle-lint.el --- What the style of Emacs asks of a package  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; checkdoc and package-lint over the files of the package, and the package installed and loaded as users
;; do.  Called by `cargo xtask emacs', each with the files or the folder on the command line.

;;; Code:

(require 'cl-lib)
(require 'checkdoc)

(defun bridle-lint-checkdoc ()
  "Check the doc strings of the files on the command line; exit 1 at a fault."
  (let* ((faults 0)
         ;; It takes every word that ends in s for a verb.
         (checkdoc-verb-check-experimental-flag nil)
         (checkdoc-create-error-function
          (lambda (text start _end &optional _unfixable)
            (setq faults (1+ faults))
            (message "%s:%d: %s" (buffer-file-name)
                     (line-number-at-pos (or start (point-min))) text)
            nil)))
    (dolist (file command-line-args-left)
      (with-current-buffer (find-file-noselect file)
        (checkdoc-current-buffer t)))
    (message "checkdoc: %d files, %d faults" (length command-line-args-left) faults)
    (kill-emacs (if (zerop faults) 0 1))))

(defvar package-lint-main-file)
(defvar package-lint-batch-fail-on-warnings)
(declare-function package-lint-batch-and-exit "ext:package-lint" ())

(defun bridle-lint-package ()
  "Run package-lint over the files on the command line."
  (dolist (folder (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa-src/*"))
    (add-to-list 'load-path folder))
  (require 'package-lint)
  ;; Its list of releases ends before Emacs 28; that is a warning.
  (setq package-lint-main-file
        (expand-file-name "bridle.el" (file-name-directory (car command-line-args-left)))
        package-lint-batch-fail-on-warnings nil)
  (package-lint-batch-and-exit))

(defun bridle-lint-install ()
  "Install the package in the folder on the command line."
  (require 'package)
  (package-initialize)
  (package-install-file (car command-line-args-left))
  (setq command-line-args-left nil))

(defun bridle-lint-installed ()
  "Use the package that is installed, as somebody does who just did that."
  (require 'package)
  (package-initialize)
  (dolist (command '(bridle bridle-ask bridle-ask-subtree bridle-approvals bridle-search
                            bridle-capture bridle-sense-mode bridle-menu))
    (unless (autoloadp (symbol-function command)) (error "%s is not autoloaded" command)))
  (require 'bridle)
  (message "installed: %s" (file-name-nondirectory (locate-library "bridle"))))

(provide 'bridle-lint)
;;; bridle-lint.el ends here
