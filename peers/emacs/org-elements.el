;;; org-elements.el --- What org-element sees in files  -*- lexical-binding: t; -*-

;; Prints one form for each file, (HEADINGS BLOCKS KEYWORDS FILE-TAGS FILE-PROPERTIES), by the parser of Org
;; alone, for comparison with bridle's reader. Where Org itself fails, the form is the symbol `failed'.
;;
;;   emacs -Q --batch -l peers/emacs/org-elements.el FILE...

;;; Code:

(require 'org)
(require 'org-element)
(require 'ob-core)

(defun org-elements--get (key element)
  "Return the property KEY of ELEMENT, a string without text properties."
  (let ((value (org-element-property key element)))
    (if (stringp value) (substring-no-properties value) value)))

(defun org-elements--line (key element)
  "Return the number of the line of the position KEY of ELEMENT."
  (line-number-at-pos (org-element-property key element) t))

(defun org-elements--last-line (element)
  "Return the number of the last line of ELEMENT with something on it.
Org gives the empty lines behind a last child to its parent."
  (save-excursion
    (goto-char (org-element-property :end element))
    (skip-chars-backward " \r\t\n")
    (line-number-at-pos nil t)))

(defun org-elements--properties (section)
  "Return the node properties in SECTION, as pairs."
  (and (eq (org-element-type section) 'section)
       (org-element-map section 'node-property
         (lambda (node)
           (list (org-elements--get :key node) (or (org-elements--get :value node) ""))))))

(defun org-elements--stamp (key headline)
  "Return the text of the timestamp KEY of HEADLINE."
  (let ((stamp (org-element-property key headline)))
    (and stamp (org-elements--get :raw-value stamp))))

(defun org-elements--headline (headline)
  "Return what is compared of HEADLINE."
  (list (org-elements--line :begin headline)
        (org-elements--last-line headline)
        (org-element-property :level headline)
        (org-elements--get :todo-keyword headline)
        (org-element-property :todo-type headline)
        (let ((priority (org-element-property :priority headline)))
          (and priority (string priority)))
        (and (org-element-property :commentedp headline) t)
        (org-elements--get :raw-value headline)
        (delete "" (mapcar #'substring-no-properties (org-element-property :tags headline)))
        (org-elements--properties (car (org-element-contents headline)))
        (list (org-elements--stamp :scheduled headline)
              (org-elements--stamp :deadline headline)
              (org-elements--stamp :closed headline))))

(defun org-elements--arguments (parameters)
  "Return the header arguments in PARAMETERS as pairs of strings, unevaluated."
  (let ((pieces (and parameters (org-babel-balanced-split parameters '((32 9) . 58)))))
    (delq nil
          (mapcar (lambda (piece)
                    (and (string-match "\\`:\\([^ \f\t\n\r\v]+\\)\\(.*\\)\\'" piece)
                         (list (match-string 1 piece) (string-trim (match-string 2 piece)))))
                  (cons (car pieces)
                        (mapcar (lambda (piece) (concat ":" piece)) (cdr pieces)))))))

(defun org-elements--block (block)
  "Return what is compared of the source BLOCK."
  (let ((headline (org-element-lineage block '(headline)))
        (parameters (org-elements--get :parameters block)))
    (list (org-elements--line :begin block)
          (org-elements--line :post-affiliated block)
          (org-elements--get :language block)
          (org-elements--get :switches block)
          parameters
          (org-elements--get :value block)
          (org-elements--get :name block)
          (mapcar (lambda (caption)
                    (substring-no-properties (org-element-interpret-data (car caption))))
                  (reverse (org-element-property :caption block)))
          (and headline (org-elements--line :begin headline))
          (and parameters (org-elements--arguments parameters)))))

(defun org-elements--keyword (keyword)
  "Return what is compared of KEYWORD."
  (list (org-elements--line :post-affiliated keyword)
        (org-elements--get :key keyword)
        (org-elements--get :value keyword)))

(defun org-elements--file (file)
  "Return what Org sees in FILE."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8))
      (insert-file-contents file))
    (org-mode)
    (let ((tree (org-element-parse-buffer 'element)))
      (list (org-element-map tree 'headline #'org-elements--headline)
            (org-element-map tree 'src-block #'org-elements--block)
            (org-element-map tree 'keyword #'org-elements--keyword)
            (mapcar #'substring-no-properties org-file-tags)
            (org-elements--properties (car (org-element-contents tree)))))))

(defun org-elements-print (file)
  "Print what Org sees in FILE."
  (prin1 (condition-case nil
             (org-elements--file file)
           (error 'failed)))
  (terpri))

(set-language-environment "UTF-8")
;; One line a file.
(setq print-escape-newlines t)
(mapc #'org-elements-print command-line-args-left)
(setq command-line-args-left nil)

;;; org-elements.el ends here
