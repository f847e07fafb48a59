;;; org-circle.el --- What Org sees in files, to bridle and back  -*- lexical-binding: t; -*-

;; Sends what `org-element-parse-buffer' makes of each file as the AST of a buffer that is not saved, asks for it
;; again, and compares.  Both shapes are sent: org-element's own, with every property of every text and `:parent' cut,
;; and the plain one of the first Emacs client, (:type T :properties (..) :contents (..)).  Appends a line a file to OUT:
;;
;;   same FILE BYTES        what came is the same text, reads as the same data, and Org writes the same of it
;;   different FILE WHY
;;   failed FILE WHY        Org itself cannot read the file, or nobody can print what it read
;;
;;   emacs -Q --batch -l peers/emacs/bridle-peer.el -l peers/emacs/org-circle.el -f org-circle-main -- PORT OUT FILE...

;;; Code:

(require 'bridle-peer)
(require 'org)
(require 'org-element)

(defconst org-circle-frame #xf00000
  "Octets of a message that are sent in one frame; a larger one goes in parts.")

(defconst org-circle-part #x200000
  "Characters of a message in one part: quoted and encoded, they still fit into a frame.")

(defconst org-circle-largest #x3000000
  "Octets of the largest tree that is sent with the structures of its lists, each item has the whole of its own.")

;;; Trees

(defun org-circle--cut-string (text)
  "Cut `:parent' of every stretch of TEXT."
  (let ((at 0))
    (while (setq at (text-property-not-all at (length text) :parent nil text))
      (let ((end (or (next-single-property-change at :parent text) (length text))))
        (put-text-property at end :parent nil text)
        (setq at end)))))

(defun org-circle-cut (tree &rest keys)
  "Cut what TREE has under KEYS, in place, so that nothing in it leads back into it; return TREE."
  (let ((seen (make-hash-table :test 'eq))
        (open (list tree)))
    (while open
      (let ((value (pop open)))
        (if (stringp value)
            (org-circle--cut-string value)
          (while (and (consp value) (not (gethash value seen)))
            (puthash value t seen)
            (when (and (memq (car value) keys) (consp (cdr value)))
              (setcar (cdr value) nil))
            (push (car value) open)
            (setq value (cdr value)))
          (when (stringp value) (org-circle--cut-string value))))))
  tree)

(defun org-circle-plain (node)
  "Return NODE in the shape of the first Emacs client, texts without properties."
  (cond ((stringp node) (substring-no-properties node))
        ((and (consp node) (symbolp (car node)))
         (list :type (car node)
               :properties (org-circle--plain-properties (nth 1 node))
               :contents (mapcar #'org-circle-plain (nthcdr 2 node))))
        (t node)))

(defun org-circle--plain-properties (properties)
  (let (plain)
    (while properties
      (let ((key (pop properties)) (value (pop properties)))
        (unless (memq key '(:parent :structure))
          (setq plain (cons (prin1-to-string (if (stringp value) (substring-no-properties value) value))
                            (cons key plain))))))
    (nreverse plain)))

(defun org-circle--stretches (text)
  "Return the properties of TEXT as (BEGIN END PLIST), neighbors that are alike as one."
  (let (stretches)
    (dolist (new (object-intervals text))
      (let ((last (car stretches)))
        (if (and last (= (nth 1 last) (nth 0 new)) (equal (nth 2 last) (nth 2 new)))
            (setcar stretches (list (nth 0 last) (nth 1 new) (nth 2 new)))
          (push new stretches))))
    (nreverse stretches)))

(defun org-circle-same-p (left right)
  "Return whether LEFT and RIGHT are the same, properties of texts included."
  (let ((open (list (cons left right))) (same t))
    (while (and same open)
      (let* ((pair (pop open)) (left (car pair)) (right (cdr pair)))
        (while (and (consp left) (consp right))
          (push (cons (pop left) (pop right)) open))
        (setq same
              (cond ((and (stringp left) (stringp right))
                     (and (string= left right)
                          (let ((mine (org-circle--stretches left)) (theirs (org-circle--stretches right)))
                            (or (null (or mine theirs))
                                (and (= (length mine) (length theirs))
                                     (org-circle-same-p mine theirs))))))
                    (t (equal left right))))))
    same))

(defun org-circle--written (tree)
  "Return what Org writes of TREE, or the error that it has with it."
  (condition-case problem (substring-no-properties (org-element-interpret-data tree))
    (error (list 'error (error-message-string problem)))))

;;; Messages

(defun org-circle--send (peer process text)
  "Send TEXT, in parts if it is long."
  (if (<= (string-bytes text) org-circle-frame)
      (process-send-string process (bridle-peer-frame peer text))
    (let* ((of (/ (+ (length text) org-circle-part -1) org-circle-part)))
      (dotimes (n of)
        (let ((piece (substring text (* n org-circle-part) (min (length text) (* (1+ n) org-circle-part)))))
          (bridle-peer-send peer process
                            `(:type :EVENT :part (:id "ast" :n ,(1+ n) :of ,of) :data ,piece)))))))

(defun org-circle--text (peer process)
  "Return the next frame of PROCESS as text."
  (let ((deadline (+ (float-time) bridle-peer-timeout)) text)
    (while (not (setq text (with-current-buffer (process-buffer process) (bridle-peer-unframe peer))))
      (when (> (float-time) deadline) (error "No answer within %d seconds" bridle-peer-timeout))
      (unless (accept-process-output process 1)
        (unless (process-live-p process) (error "The daemon closed the connection before its answer"))))
    text))

(defun org-circle--answer (peer process id)
  "Return the text of the answer with ID, put together from its parts."
  (let ((begins (format "(:type :RESPONSE :id %d " id)) (parts nil) found)
    (while (not found)
      (let ((text (org-circle--text peer process)))
        (cond ((string-prefix-p begins text) (setq found text))
              ((string-prefix-p "(:type :EVENT :part " text)
               (let* ((part (car (read-from-string text))) (place (plist-get part :part)))
                 (push (plist-get part :data) parts)
                 (when (= (plist-get place :n) (plist-get place :of))
                   (setq text (apply #'concat (nreverse parts)) parts nil)
                   (when (string-prefix-p begins text) (setq found text)))))
              ((string-match-p "\\`(:type :RESPONSE .*:status :error" text) (setq found text)))))
    found))

(defvar org-circle--id 0 "The id of the last message.")

(defun org-circle--there-and-back (peer process file printed)
  "Send PRINTED as the AST of FILE and return what comes back as text and as data."
  (let* ((id (setq org-circle--id (1+ org-circle--id)))
         (name (bridle-peer-print file))
         (update (format "(:type :EVENT :id %d :payload (:sensor :buffer-update :file %s :state :modified :ast "
                         id name)))
    (org-circle--send peer process (concat update printed "))"))
    (let ((answer (org-circle--answer peer process id)))
      (unless (string-match-p ":status :success" answer) (error "Sent, and answered %s" answer)))
    (setq id (setq org-circle--id (1+ org-circle--id)))
    (org-circle--send peer process
                      (format "(:type :REQUEST :id %d :target :context :payload (:action :get-ast :file %s))" id name))
    (let ((answer (org-circle--answer peer process id)))
      (unless (string-match " :ast " answer) (error "Asked, and answered %s" answer))
      (list (substring answer (match-end 0) -2)
            (plist-get (plist-get (car (read-from-string answer)) :payload) :ast)))))

;;; Files

(defun org-circle--tree (file)
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-unix)) (insert-file-contents file))
    (let ((enable-local-variables nil)) (delay-mode-hooks (org-mode)))
    (org-element-parse-buffer)))

(defun org-circle--printed (tree)
  "Return TREE as text; without the structures of lists if it would be too large with them."
  (let ((printed (bridle-peer-print tree)))
    (if (<= (string-bytes printed) org-circle-largest)
        printed
      (bridle-peer-print (org-circle-cut tree :structure)))))

(defun org-circle--compare (peer process file tree)
  "Return the octets of TREE of FILE as it was sent, or say what is different."
  (let* ((printed (org-circle--printed tree))
         (back (org-circle--there-and-back peer process file printed)))
    (unless (string= printed (car back)) (error "The text is another"))
    (unless (org-circle-same-p tree (cadr back)) (error "The data is another"))
    (unless (equal (org-circle--written tree) (org-circle--written (cadr back)))
      (error "Org writes something else"))
    (let* ((plain (org-circle-plain tree))
           (printed (bridle-peer-print plain))
           (back (org-circle--there-and-back peer process file printed)))
      (unless (and (string= printed (car back)) (org-circle-same-p plain (cadr back)))
        (error "The plain shape is another")))
    (string-bytes printed)))

(defun org-circle--problem (word file problem)
  (format "%s %s %s" word file
          (replace-regexp-in-string "[\n\r]+" " " (truncate-string-to-width (error-message-string problem) 400))))

(defun org-circle--file (peer process file)
  "Return the line that says what became of FILE."
  (condition-case problem
      (let ((tree (org-circle-cut (org-circle--tree file) :parent)))
        (condition-case problem (format "same %s %d" file (org-circle--compare peer process file tree))
          (error (org-circle--problem "different" file problem))))
    (error (org-circle--problem "failed" file problem))))

(defun org-circle-main ()
  "Do what the command line after `--' says."
  (let* ((arguments (delete "--" (copy-sequence command-line-args-left)))
         (peer (bridle-peer-create :unit 'bytes))
         (process (bridle-peer-connect peer (string-to-number (car arguments))))
         (max-lisp-eval-depth 100000) (max-specpdl-size 200000)
         (gc-cons-threshold #x10000000)
         (inhibit-message t))
    (setq command-line-args-left nil)
    (org-circle--text peer process)
    (bridle-peer-send peer process '(:type :EVENT :id 0 :payload (:action :handshake :length :bytes :dialect :emacs
                                                                          :shell :emacs :capabilities (:parts))))
    (org-circle--answer peer process 0)
    (dolist (file (cddr arguments))
      (let ((coding-system-for-write 'utf-8-unix))
        ;; At once: Org never ends on some texts, and Emacs is stopped then.
        (write-region (concat (org-circle--file peer process file) "\n") nil (nth 1 arguments) t 'silent)))
    (delete-process process)))

(provide 'org-circle)
;;; org-circle.el ends here
