;;; What the daemon asks for: load, then calls, one at a time.

(defun %reason (condition)
  (remove #\Newline (format nil "~(~a~): ~a" (type-of condition) condition) :count 0))

(defun %line-of (text position)
  (1+ (count #\Newline text :end (min position (length text)))))

(defun %first-line (text start)
  "Line of the form that begins behind the blanks at a place."
  (let ((at (position-if (lambda (c) (not (member c '(#\Space #\Tab #\Newline #\Return)))) text :start (min start (length text)))))
    (%line-of text (or at (length text)))))

(defun %load-text (text)
  "Loads a program form by form; nil, or the reason and the line of the form that failed."
  (let ((at 0) (end (list nil)) (*package* (find-package :bridle-skill)))
    (loop
      (let ((line (%first-line text at)))
        (handler-case
            (multiple-value-bind (form next) (read-from-string text nil end :start at)
              (if (eq form end) (return nil))
              (setq at next)
              (handler-bind ((warning #'muffle-warning)) (eval form)))
          (error (condition) (return (list (%reason condition) line))))))))

(defun %evaluated (source)
  (let ((values nil) (at 0) (end (list nil)))
    (loop (multiple-value-bind (form next) (read-from-string source nil end :start at)
            (if (eq form end) (return (mapcar (lambda (value) (let ((*print-case* :upcase)) (prin1-to-string value))) values)))
            (setq at next values (multiple-value-list (eval form)))))))

(defun %called (message)
  (let ((kind (getf message :kind)))
    (if (eq kind :form)
        (%evaluated (getf message :name))
        (let ((*may-wait* t)) (%skill-run kind (getf message :name) (getf message :arguments))))))

(defun %serve ()
  (let* ((*package* (find-package :bridle-skill))
         (*standard-output* *printed*)
         (*error-output* (make-broadcast-stream))
         (*trace-output* *error-output*))
    (loop
      (let ((message (%receive)))
        (case (getf message :do)
          (:load
           (let ((fault (%load-text (getf message :text))))
             (%output)
             (%send (if fault
                        (list :failed (first fault) :line (second fault))
                        (list :done (%skill-parts))))))
          (:call
           (handler-case (let ((value (%called message))) (%send (list :done value :output (%output))))
             (sb-sys:interactive-interrupt () (sb-ext:exit :code 2 :abort t))
             (storage-condition () (%send (list :failed "heap limit reached" :limit t)))
             (error (condition) (%send (list :failed (%reason condition) :output (%output))))))
          (t (sb-ext:exit :code 0 :abort t)))))))

(setq sb-ext:*evaluator-mode* :compile)
(%serve)
