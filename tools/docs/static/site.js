// Tables and blocks that scroll sideways can be reached with the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".pst-scrollable-table-container, div.highlight > pre")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
