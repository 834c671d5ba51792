//! Prints the continuation of a prompt as it comes: `generate MODEL_DIRECTORY PROMPT [MAX_NEW_TOKENS]`.

use std::env;
use std::error::Error;
use std::io::{self, Write};

use vkformer::{Context, Generation, Generator, GeneratorOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (directory, prompt) = match arguments.as_slice() {
        [directory, prompt, ..] => (directory, prompt),
        _ => return Err("usage: generate MODEL_DIRECTORY PROMPT [MAX_NEW_TOKENS]".into()),
    };
    let max_new_tokens = arguments.get(2).map_or(Ok(0), |count| count.parse())?;

    let context = Context::new()?;
    let mut generator = Generator::new(&context, directory, &GeneratorOptions::default())?;
    let generation = Generation { max_new_tokens, ..Default::default() };
    for part in generator.stream(prompt, &generation) {
        print!("{}", part?);
        io::stdout().flush()?;
    }
    println!();
    Ok(())
}
