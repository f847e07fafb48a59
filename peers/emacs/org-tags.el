;;; org-tags.el --- which files and headings Org takes for private  -*- lexical-binding: t -*-

;; emacs -Q --batch -l peers/emacs/org-tags.el FILE...
;;
;; Prints a line for each file: its name, and for the file and each of its headings `private' if it has
;; that tag, its own or inherited, in whatever case, else `open'.

(require 'org)
(require 'seq)

(setq enable-local-variables :all
      org-resource-download-policy nil)

(defun org-tags-word (tags)
  "Return the word for TAGS."
  (if (seq-some (lambda (tag) (string-equal-ignore-case-ascii tag "private")) tags) "private" "open"))

(defun string-equal-ignore-case-ascii (one other)
  "Tell whether ONE and OTHER are the same but for case."
  (string= (downcase one) (downcase other)))

(dolist (file command-line-args-left)
  (with-current-buffer (find-file-noselect file t)
    (princ (format "%s: %s\n" (file-name-nondirectory file)
                   (mapconcat #'identity
                              (cons (org-tags-word org-file-tags)
                                    (org-map-entries (lambda () (org-tags-word (org-get-tags)))))
                              " ")))))
(setq command-line-args-left nil)

;;; org-tags.el ends here
