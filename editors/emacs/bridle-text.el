;;; bridle-text.el --- Show text of others without letting it act  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; What a daemon or a model wrote goes into Org buffers, where much is more than text: headings, drawers,
;; keywords, source blocks with arguments, inline calls, formulas, links that run code, variables of
;; files, and characters that hide or reorder others.  This file turns such text into Org that says the
;; same and does nothing.  Everything that is shown or inserted goes through here.

;;; Code:

(require 'cl-lib)
(require 'subr-x)

(defconst bridle-text-longest-line 1000
  "Characters of a line after which it is broken: Emacs is slow on long ones.")

(defconst bridle-text--hidden
  (concat "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\x34f\x61c\x115f\x1160\x17b4\x17b5\x180b-\x180f"
          "\x200b-\x200f\x2028-\x202e\x2060-\x206f\x3164\xd800-\xdfff\xfeff\xffa0"
          "\xfff0-\xfffb\x1d173-\x1d17a\xe0000-\xe0fff\x110000-\x3fffff]")
  "Matches characters that hide, reorder or drive: they are shown by number.")

(defconst bridle-text--links '("http" "https" "ftp" "mailto" "doi" "file" "id" "news")
  "Types of links that stay links.")

(defconst bridle-text--acting
  (concat "%%(\\|\\bsrc_[^ \t\n]\\|\\bcall_[^ \t\n]\\|{{{\\|<<\\|"
          "|[ \t]*:?=\\|\\[\\[[^]\n]*\\]\\|\\[\\[\\|"
          "\\[cite[/:]\\|\\b[[:alpha:]][-+.[:alnum:]]*:[^ \t\n:]\\|^[ \t]*CLOCK:\\|@@[[:alpha:]]")
  "Matches what may act in a line of Org; links are looked at once more.")

(defconst bridle-text--languages
  (split-string "ada asm awk bash c c++ clojure common-lisp conf cpp css dart diff elisp elixir
emacs-lisp erlang f90 fish fortran go haskell html ini java javascript js json julia kotlin latex
lisp lua makefile markdown nim nix ocaml perl php powershell prolog python r ruby rust scala scheme
sh shell sql swift tcl tex text toml ts typescript xml yaml zig")
  "Languages that a source block may keep.
Org calls the function LANGUAGE-mode to show a block; whoever writes
the text must not choose that function.")

(defun bridle-text-visible (text)
  "Return TEXT without properties, characters that hide shown by number."
  (let ((text (substring-no-properties text)))
    (if (not (string-match-p bridle-text--hidden text))
        text
      (replace-regexp-in-string
       bridle-text--hidden
       (lambda (match)
         (let ((char (aref match 0)))
           (if (> char #x3fff7f)
               (format "\\x%02x" (- char #x3fff00))
             (format (if (> char #xffff) "\\U%06x" "\\u%04x") char))))
       (string-replace "\r\n" "\n" text) t t))))

(defun bridle-text-line (text &optional width)
  "Return TEXT as one visible line of at most WIDTH characters."
  (let* ((width (or width 200))
         (text (substring-no-properties text))
         (text (if (> (length text) (* 2 width)) (substring text 0 (* 2 width)) text)))
    (truncate-string-to-width
     (replace-regexp-in-string "[ \t\n\r]+" " " (string-trim (bridle-text-visible text)))
     width nil nil "…")))

(defun bridle-text-break (line)
  "Return LINE with a line end after every so many characters."
  (if (<= (length line) bridle-text-longest-line)
      line
    (string-join (cl-loop for from from 0 below (length line) by bridle-text-longest-line
                          collect (substring line from (min (length line)
                                                            (+ from bridle-text-longest-line))))
                 "\n")))

;;;; Org

(cl-defstruct (bridle-defuser (:constructor bridle-defuser-start) (:copier nil))
  "Where a text stands that is made harmless line by line.
BLOCK is the name of the block that is open, FENCE its end in Markdown."
  block fence)

(defun bridle-defuse-line (defuser line)
  "Return LINE, visible and harmless, as DEFUSER stands; it has no line end."
  (let ((case-fold-search t))
    (cond
     ((bridle-defuser-block defuser) (bridle-text--in-block defuser line))
     ((string-match "\\`[ \t]*\\(```+\\|~~~+\\)[ \t]*\\([^`~]*\\)\\'" line)
      (setf (bridle-defuser-fence defuser) (match-string 1 line)
            (bridle-defuser-block defuser) "src")
      (concat "#+begin_src" (bridle-text--language (match-string 2 line))))
     ((string-match "\\`[ \t]*#\\+begin_\\(src\\|example\\|quote\\|verse\\)\\(?:[ \t]+\\(.*\\)\\)?\\'" line)
      (let ((name (downcase (match-string 1 line))) (rest (or (match-string 2 line) "")))
        (setf (bridle-defuser-block defuser) name)
        (concat "#+begin_" name (and (equal name "src") (bridle-text--language rest)))))
     (t (bridle-text--harmless line)))))

(defun bridle-text--language (text)
  "Return the language that TEXT begins with, else \"text\", after a blank."
  (let ((word (downcase (or (car (split-string text "[ \t{]+" t)) ""))))
    (concat " " (if (member word bridle-text--languages) word "text"))))

(defun bridle-text--in-block (defuser line)
  "Return LINE of the block that is open in DEFUSER."
  (let ((fence (bridle-defuser-fence defuser)) (block (bridle-defuser-block defuser)))
    (if (if fence
            (string-match-p (concat "\\`[ \t]*" (regexp-quote fence) "[`~]*[ \t]*\\'") line)
          (string-match-p (concat "\\`[ \t]*#\\+end_" block "[ \t]*\\'") line))
        (progn (setf (bridle-defuser-block defuser) nil (bridle-defuser-fence defuser) nil)
               (concat "#+end_" block))
      (if (member block '("src" "example"))
          (bridle-text--no-variables
           (if (string-match-p "\\`[ \t]*,*\\(?:\\*\\|#\\+\\)" line)
               (replace-regexp-in-string "\\`\\([ \t]*\\)" "\\1," line)
             line))
        (bridle-text--harmless line)))))

(defun bridle-text--harmless (line)
  "Return LINE of a paragraph so that Org takes it for text."
  (let ((case-fold-search t))
    (cond
     ;; A heading: with a blank before it it is none.
     ((string-match-p "\\`\\*+[ \t]" line) (bridle-text--harmless (concat " " line)))
     ((or (string-match-p "\\`[ \t]*#\\(?:\\+\\|[ \t]\\|\\'\\)" line)
          (string-match-p "\\`[ \t]*:[^ \t\n:]+:" line)
          (bridle-text--acts line))
      (concat ": " (bridle-text--no-variables line)))
     (t (bridle-text--no-variables line)))))

(defun bridle-text--acts (line)
  "Whether something in LINE does more than be read."
  (let ((from 0) (result nil))
    (while (and (not result) (string-match bridle-text--acting line from))
      (let ((found (match-string 0 line)))
        (setq from (max (1+ from) (1- (match-end 0)))
              result (not (bridle-text--plain-link-p found)))))
    result))

(defun bridle-text--plain-link-p (found)
  "Whether FOUND is the beginning of a link that stays one, or no link at all."
  (cond
   ((string-match "\\`\\[\\[\\([^]\n]+\\)\\]\\'" found)
    (string-match-p (concat "\\`" (regexp-opt bridle-text--links) ":[^\n]")
                    (match-string 1 found)))
   ((string-prefix-p "[[" found) nil)
   ((string-match "\\`\\([[:alpha:]][-+.[:alnum:]]*\\):[^ \t]\\'" found)
    (let ((type (downcase (match-string 1 found))))
      (or (member type bridle-text--links)
          (not (member type (bridle-text--link-types))))))))

(defun bridle-text--link-types ()
  "Return the types of links that may do something here."
  (append '("elisp" "shell" "file+sys" "file+emacs" "help" "info" "docview" "org-protocol"
            "javascript" "data" "attachment" "coderef" "eww" "man" "tramp" "ssh" "src")
          (and (fboundp 'org-link-types) (org-link-types))))

(defun bridle-text--no-variables (line)
  "Return LINE so that it sets no variables of a file."
  (let ((case-fold-search t))
    (if (string-match-p "Local \\(?:Variables\\):\\|-\\*-" line)
        (replace-regexp-in-string
         "-\\*-" "-*·-"
         (replace-regexp-in-string "\\(Local\\) \\(Variables\\):" "\\1·\\2:" line))
      line)))

(defun bridle-text-org (text)
  "Return TEXT as Org that says the same and does nothing; it ends with a line end."
  (let ((defuser (bridle-defuser-start)))
    (concat (mapconcat (lambda (line)
                         (bridle-defuse-line defuser line))
                       (split-string (bridle-text--lines text) "\n") "\n")
            "\n"
            (bridle-defuse-end defuser))))

(defun bridle-text--lines (text)
  "Return TEXT visible, in lines that are not too long, without blank ends."
  (mapconcat #'bridle-text-break
             (split-string (string-trim-right (bridle-text-visible text)) "\n") "\n"))

(defun bridle-defuse-end (defuser)
  "Return what ends the block that is open in DEFUSER, or \"\"."
  (prog1 (if (bridle-defuser-block defuser)
             (concat "#+end_" (bridle-defuser-block defuser) "\n")
           "")
    (setf (bridle-defuser-block defuser) nil (bridle-defuser-fence defuser) nil)))

(defun bridle-text-fixed (text)
  "Return TEXT as fixed-width lines of Org: what is in it stays text."
  (mapconcat (lambda (line)
               (let ((line (bridle-text--no-variables line)))
                 (if (string-empty-p line) ":\n" (concat ": " line "\n"))))
             (split-string (bridle-text--lines text) "\n") ""))

(defun bridle-text-local-path-p (path)
  "Whether PATH is absolute and of this machine, told by its letters alone.
`file-remote-p' would load what handles remote files."
  (string-match-p "\\`/\\(?:[^/:|[:cntrl:]][^:|[:cntrl:]]*\\)?\\'" path))

(defun bridle-text-head (text count)
  "Return the first COUNT characters of TEXT, and how many more there are."
  (if (<= (length text) count)
      (cons text 0)
    (cons (substring text 0 count) (- (length text) count))))

(provide 'bridle-text)
;;; bridle-text.el ends here
