;;; Trees of Org files, as the host hands them in: (:type TYPE :props (...) :contents (...)).

(defun bridle:org-type (node) (getf node :type))
(defun bridle:org-property (node key) (getf (getf node :props) key))
(defun bridle:org-contents (node) (getf node :contents))
(defun bridle:org-walk (function node)
  (funcall function node)
  (dolist (child (getf node :contents) nil)
    (if (consp child) (bridle:org-walk function child))))
(defun bridle:org-collect (type node)
  (let ((found nil))
    (bridle:org-walk (lambda (n) (if (eq (getf n :type) type) (push n found))) node)
    (nreverse found)))
