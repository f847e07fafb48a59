;;; org-tree.el --- The tree that org-element makes of files  -*- lexical-binding: t; -*-

;; Adds to the file OUT, for each file, a line `FILE name', then one form for each element and object, in the order of the
;; text, then a line `DONE':
;;
;;   (DEPTH TYPE BEGIN END CONTENTS-BEGIN CONTENTS-END POST-AFFILIATED VALUE...)
;;
;; The values are those properties that bridle works out too, in the order of `org-tree--properties'.  Where Org itself
;; fails on a file, the only line is `failed'.  Objects of titles, of tags of items, of captions and of what stands around
;; the keys of citations are there, like contents.  There are texts on which Org never ends: whoever runs this ends it, and
;; finds the name of the file without `DONE'.
;;
;;   emacs -Q --batch -l peers/emacs/org-tree.el OUT FILE...

;;; Code:

(require 'org)
(require 'org-element)

(defconst org-tree--properties
  '((babel-call :value)
    (citation :style)
    (citation-reference :key)
    (clock :status :duration)
    (code :value)
    (diary-sexp :value)
    (drawer :drawer-name)
    (dynamic-block :block-name :arguments)
    (entity :name :use-brackets-p)
    (example-block :switches)
    (export-block :type)
    (export-snippet :back-end :value)
    (footnote-definition :label)
    (footnote-reference :label :type)
    (headline :level :todo-keyword :todo-type :priority :commentedp :archivedp :tags :raw-value)
    (inline-babel-call :value)
    (inline-src-block :language :parameters :value)
    (item :bullet :checkbox :counter)
    (keyword :key :value)
    (latex-fragment :value)
    (link :type :path :format :application :search-option)
    (macro :key :args)
    (node-property :key :value)
    (plain-list :type)
    (planning :closed :deadline :scheduled)
    (radio-target :value)
    (special-block :type)
    (src-block :language :switches :parameters)
    (statistics-cookie :value)
    (subscript :use-brackets-p)
    (superscript :use-brackets-p)
    (table :type :tblfm)
    (table-row :type)
    (target :value)
    (verbatim :value))
  "The properties that are printed of each type.")

(defun org-tree--moment (timestamp start)
  "Return the date and time of TIMESTAMP, its START or its end."
  (mapcar (lambda (field) (org-element-property (intern (format ":%s-%s" field start)) timestamp))
          '(year month day hour minute)))

(defun org-tree--timestamp (timestamp)
  "Return what is printed of TIMESTAMP."
  (let ((type (org-element-property :type timestamp))
        (raw (org-element-property :raw-value timestamp))
        (list (lambda (kind)
                (and (org-element-property (intern (format ":%s-type" kind)) timestamp)
                     (mapcar (lambda (field)
                               (org-element-property (intern (format ":%s-%s" kind field)) timestamp))
                             '(type value unit))))))
    (if (eq type 'diary)
        (list type raw)
      (list type raw (org-tree--moment timestamp 'start) (org-tree--moment timestamp 'end)
            (funcall list 'repeater) (funcall list 'warning)))))

(defun org-tree--value (property node)
  "Return the PROPERTY of NODE as it is printed."
  (let ((value (org-element-property property node)))
    (cond ((stringp value) (substring-no-properties value))
          ((memq property '(:commentedp :archivedp :use-brackets-p)) (and value t))
          ((and (eq property :priority) value) (string value))
          ((memq property '(:closed :deadline :scheduled))
           (and value (org-element-property :raw-value value)))
          ((memq property '(:tags :tblfm :args)) (mapcar #'substring-no-properties value))
          (t value))))

(defun org-tree--values (node)
  "Return the values that are printed of NODE."
  (if (eq (org-element-type node) 'timestamp)
      (org-tree--timestamp node)
    (mapcar (lambda (property) (org-tree--value property node))
            (cdr (assq (org-element-type node) org-tree--properties)))))

(defun org-tree--print (node depth)
  "Print NODE, at DEPTH, and what is inside it."
  (unless (stringp node)
    (let ((get (lambda (property) (org-element-property property node))))
      (prin1 (append (list depth (org-element-type node)
                           (or (funcall get :begin) 1)
                           (or (funcall get :end) (point-max))
                           (funcall get :contents-begin)
                           (funcall get :contents-end)
                           (or (funcall get :post-affiliated) (funcall get :begin) 1))
                     (org-tree--values node)))
      (terpri)
      (dolist (inside (append
                       ;; The last caption comes first, and each as (LONG . SHORT).
                       (apply #'append (mapcar (lambda (caption) (append (cdr caption) (car caption)))
                                               (reverse (funcall get :caption))))
                       (pcase (org-element-type node)
                         ('headline (funcall get :title))
                         ('item (funcall get :tag))
                         ((or 'citation 'citation-reference) (funcall get :prefix)))
                       (org-element-contents node)
                       (and (memq (org-element-type node) '(citation citation-reference))
                            (funcall get :suffix))))
        (org-tree--print inside (1+ depth))))))

;; What is printed to standard output in batch mode is lost when Emacs is ended.
(defun org-tree--add (text out)
  "Add TEXT to the file OUT."
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil out t 'silent)))

(defun org-tree-file (file out)
  "Add the tree of FILE to the file OUT."
  (org-tree--add (format "FILE %s\n" file) out)
  (org-tree--add
   (with-output-to-string
     (with-temp-buffer
       (let ((coding-system-for-read 'utf-8))
         (insert-file-contents file))
       (let (tree)
         (condition-case nil
             (progn (org-mode)
                    (setq tree (org-element-parse-buffer)))
           (error (princ "failed\n")))
         (when tree
           (org-tree--print tree 0))))
     (princ "DONE\n"))
   out))

(set-language-environment "UTF-8")
(setq print-escape-newlines t
      print-length nil
      print-level nil
      max-lisp-eval-depth 100000
      max-specpdl-size 100000
      gc-cons-threshold 200000000)
;; A file of Org must not run anything, nor ask.
(setq enable-local-variables nil
      org-inhibit-startup t)
(let ((out (pop command-line-args-left)))
  (while command-line-args-left
    (org-tree-file (pop command-line-args-left) out)))

;;; org-tree.el ends here
