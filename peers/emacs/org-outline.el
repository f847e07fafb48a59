;;; org-outline.el --- What Org sees in a file  -*- lexical-binding: t; -*-

;; Prints one form for each heading of an Org file, in order: a plist with its level, title, keyword of
;; progress, tags, properties and the texts of the example and source blocks right below it.
;;
;;   emacs -Q --batch -l peers/emacs/org-outline.el FILE

;;; Code:

(require 'org)
(require 'org-element)

(defun org-outline--blocks (headline)
  "Return the texts of the blocks in the section of HEADLINE, without those below its children."
  (let ((section (car (org-element-contents headline))))
    (and (eq (org-element-type section) 'section)
         (org-element-map section '(example-block src-block)
           (lambda (block)
             (let ((text (substring-no-properties (org-element-property :value block))))
               (string-remove-suffix "\n" text)))))))

(defun org-outline--properties (headline)
  "Return the drawer of HEADLINE as an alist."
  (let ((section (car (org-element-contents headline))))
    (and (eq (org-element-type section) 'section)
         (org-element-map section 'node-property
           (lambda (property)
             (list (substring-no-properties (org-element-property :key property))
                   (substring-no-properties (org-element-property :value property))))))))

(defun org-outline-print (file)
  "Print the headings of FILE."
  (with-temp-buffer
    (insert-file-contents file)
    (org-mode)
    (org-element-map (org-element-parse-buffer) 'headline
      (lambda (headline)
        (prin1 (list :level (org-element-property :level headline)
                     :title (substring-no-properties (org-element-property :raw-value headline))
                     :todo (org-element-property :todo-keyword headline)
                     :tags (org-element-property :tags headline)
                     :properties (org-outline--properties headline)
                     :blocks (org-outline--blocks headline)))
        (terpri)))))

(set-language-environment "UTF-8")
;; One line a heading.
(setq print-escape-newlines t)
(org-outline-print (car command-line-args-left))
(setq command-line-args-left nil)

;;; org-outline.el ends here
