// A button on each block of code that copies it: of a console's block the commands, of what a block prints nothing.
document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const kind = block.parentElement.className;
    if (/highlight-output/.test(kind)) continue;
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = block.querySelector("pre").textContent;
      const commands = text.split("\n").filter(line => line.startsWith("$ ")).map(line => line.slice(2));
      await navigator.clipboard.writeText(/highlight-console/.test(kind) ? commands.join("\n") : text);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});
